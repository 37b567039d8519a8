/* replay.c - simulates workers and slots with fetch at zero. */
#include "profiler/analysis/replay.h"

#include <math.h>
#include <stdlib.h>

/* When the earliest worker is free; *which of them. */
static double first_free(const double *free_at, unsigned workers, unsigned *which)
{
	*which = 0;
	for (unsigned i = 1; i < workers; i++)
		if (free_at[i] < free_at[*which])
			*which = i;
	return free_at[*which];
}

/* Prepares the samples of `batch` from *next on; returns when the last is done. */
static double replay_prepare(const struct replay *replay, uint32_t batch, double opened,
			     double *free_at, size_t *next)
{
	double done = opened;

	while (*next < replay->sample_count && replay->samples[*next].batch == batch) {
		unsigned worker;
		double start = first_free(free_at, replay->workers, &worker);

		free_at[worker] = fmax(start, opened) +
				  replay->samples[*next].prep_ns * 1e-9 * replay->prep;
		done = fmax(done, free_at[worker]);
		++*next;
	}
	return done;
}

double replay_wait(const struct replay *replay, size_t from)
{
	/* requested[b]: when batch b is asked for, and the slot of b-1 is free. */
	double *requested = calloc(replay->steps + 1, sizeof(*requested));
	double *free_at = calloc(replay->workers, sizeof(*free_at));
	double wait = 0;
	size_t next = 0;

	for (size_t step = 0;
	     requested != NULL && free_at != NULL && step < replay->steps; step++) {
		double opened =
			step < replay->slots ? 0 : requested[step - replay->slots + 1];
		size_t first = next;
		double done =
			replay_prepare(replay, (uint32_t)step, opened, free_at, &next);
		double delivered = fmax(done, requested[step]);

		if (next == first && step >= from) {
			wait = -1;
			break;
		}
		if (step >= from && (replay->pauses == NULL || !replay->pauses[step]))
			wait += delivered - requested[step];
		requested[step + 1] = delivered + replay->compute_s[step];
	}
	if (requested == NULL || free_at == NULL)
		wait = -1;
	free(requested);
	free(free_at);
	return wait;
}
