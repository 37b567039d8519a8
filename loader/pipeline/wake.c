/* wake.c - wakes the threads of the pipeline. */
#include "loader/pipeline/pipeline_state.h"

void pipeline_wake(struct pipeline *p)
{
	p->kick = true;
	pthread_cond_broadcast(&p->work);
	pthread_cond_broadcast(&p->wanted);
}

void pipeline_leave(struct pipeline *p)
{
	bool kick = p->kick;

	p->kick = false;
	pthread_mutex_unlock(&p->lock);
	if (kick)
		fetch_kick(p->fetch);
}

void pipeline_completed(struct pipeline *p)
{
	p->in_flight--;
	if (p->in_flight == 0 || p->measuring.readahead.kind != READAHEAD_NONE)
		pthread_cond_broadcast(&p->idle);
}
