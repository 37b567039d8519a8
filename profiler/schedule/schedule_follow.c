/* schedule_follow.c - jobs in step: one schedule leads. */
#include "profiler/schedule/schedule_state.h"

/* Without a fill, a cache that wants one has its hits drawn. */
static void choose_own_cache(struct schedule *schedule, const struct trace *trace,
			     bool fills)
{
	schedule->planned = true;
	schedule_choose_cache(schedule, trace);
	if (!fills && schedule_wants_fill(schedule, trace))
		schedule->drawn = true;
}

void schedule_follow(struct schedule *schedule, const struct trace *trace,
		     const struct trace_window *lead, struct trace_window *ask)
{
	enum trace_kind kind = lead->kind;

	schedule_look(schedule, trace);
	schedule->asked++;
	schedule->length_s = (double)lead->length_ns * 1e-9;
	*ask = *lead;
	if (!schedule->planned)
		choose_own_cache(schedule, trace, kind == TRACE_FILL);
	if (kind == TRACE_REAL && lead->block < TRACE_WINDOWS) {
		ask->flags &= ~(unsigned)(TRACE_DRAW | TRACE_WARM);
		ask->stage = 0;
		ask->hit = 0;
		schedule_set_real(schedule, trace, ask);
	} else if (lead->stage > 0) {
		ask->stage = schedule_stage(schedule, trace, kind);
	}
}

static bool is_asked_again(const struct schedule *schedule,
			   const struct trace_window *window)
{
	for (unsigned i = 0; i < schedule->again_count; i++)
		if (schedule->again[i].kind == window->kind &&
		    schedule->again[i].block == window->block)
			return true;
	return false;
}

void schedule_heed(struct schedule *leader, struct schedule *const *followers,
		   size_t count)
{
	leader->behind = false;
	for (size_t i = 0; i < count; i++) {
		struct schedule *follower = followers[i];
		bool counts = !schedule_given_up(follower);

		leader->behind |= counts && !schedule_precise(follower);
		while (follower->again_count > 0) {
			const struct trace_window *again =
				&follower->again[--follower->again_count];

			if (counts && !is_asked_again(leader, again) &&
			    leader->again_count < SCHEDULE_AGAINS)
				leader->again[leader->again_count++] = *again;
		}
	}
}
