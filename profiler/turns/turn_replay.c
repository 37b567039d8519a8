/* turn_replay.c - follows batches from worker to trainer, one step after the other. */
#include "profiler/turns/turn_replay.h"

#include <math.h>
#include <stdlib.h>

struct turn_given {
	double end; /* when it is made; INFINITY: there is no record of it */
	unsigned worker;
	bool taken;
};

struct turn_worker {
	double free_at;
	unsigned under_way; /* batches that it has, or that wait for the trainer */
};

struct turn_state {
	const struct turn_replay *replay;
	double io_s_per_byte;
	struct turn_given *given; /* by their number */
	size_t given_count;
	size_t oldest; /* all before it are taken */
	struct turn_worker *workers;
	unsigned turn; /* whose it is */
};

/* INFINITY: it has no record. */
static double turn_replay_cost(const struct turn_state *state, size_t number)
{
	const struct turn_batch *batch;

	if (number >= state->replay->batch_count)
		return INFINITY;
	batch = &state->replay->batches[number];
	if (isnan(state->io_s_per_byte))
		return batch->made_s;
	return fmax(0, batch->made_s - batch->io_s) +
	       (double)batch->bytes * state->io_s_per_byte;
}

/* The next that may have one more. */
static unsigned turn_replay_next_worker(struct turn_state *state)
{
	const struct turn_replay *replay = state->replay;
	unsigned worker;

	do {
		worker = state->turn;
		state->turn = (worker + 1) % replay->workers;
	} while (replay->any_order &&
		 state->workers[worker].under_way >= replay->prefetch);
	return worker;
}

static void turn_replay_give(struct turn_state *state, double now)
{
	size_t number = state->given_count++;
	unsigned which = turn_replay_next_worker(state);
	struct turn_worker *worker = &state->workers[which];

	worker->free_at = fmax(worker->free_at, now) + state->replay->pickup_s +
			  turn_replay_cost(state, number);
	worker->under_way++;
	state->given[number] = (struct turn_given){worker->free_at, which, false};
}

/* The one that the trainer takes next. */
static size_t turn_replay_chosen(const struct turn_state *state)
{
	size_t first = state->oldest;

	for (size_t i = first + 1; state->replay->any_order && i < state->given_count;
	     i++)
		if (!state->given[i].taken &&
		    state->given[i].end < state->given[first].end)
			first = i;
	return first;
}

/* When the trainer has a batch that it asks for; not finite: there is none. */
static double turn_replay_deliver(struct turn_state *state, double requested)
{
	double handover_s = state->replay->handover_s, delivered;
	struct turn_given *given;

	if (state->replay->workers == 0)
		return requested + turn_replay_cost(state, state->oldest++) +
		       handover_s;
	given = &state->given[turn_replay_chosen(state)];
	delivered = fmax(given->end, requested) + handover_s;
	state->workers[given->worker].under_way--;
	given->taken = true;
	while (state->oldest < state->given_count && state->given[state->oldest].taken)
		state->oldest++;
	turn_replay_give(state, delivered);
	return delivered;
}

static double turn_replay_run(struct turn_state *state, size_t ahead, size_t from)
{
	const struct turn_replay *replay = state->replay;
	double wait = 0, requested = 0;

	for (size_t i = 0; i < ahead; i++)
		turn_replay_give(state, 0);
	for (size_t step = 0; step < replay->steps; step++) {
		double delivered = turn_replay_deliver(state, requested);

		if (!isfinite(delivered))
			return -1;
		if (step >= from)
			wait += delivered - requested;
		requested = delivered + replay->compute_s[step];
	}
	return wait;
}

double turn_replay_wait(const struct turn_replay *replay, double io_s_per_byte,
			size_t from)
{
	size_t ahead = (size_t)replay->workers * replay->prefetch;
	struct turn_state state = {.replay = replay, .io_s_per_byte = io_s_per_byte};
	double wait = -1;

	if (replay->workers > TURN_WORKERS || replay->prefetch > TURN_PREFETCH ||
	    (replay->workers > 0 && ahead == 0))
		return -1;
	state.given = calloc(replay->steps + ahead + 1, sizeof(*state.given));
	state.workers = calloc(replay->workers + 1, sizeof(*state.workers));
	if (state.given != NULL && state.workers != NULL)
		wait = turn_replay_run(&state, ahead, from);
	free(state.given);
	free(state.workers);
	return wait;
}
