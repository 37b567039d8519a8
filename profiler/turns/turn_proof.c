/* turn_proof.c - sums replays over windows, and what they are given. */
#include "profiler/turns/turn_proof.h"

#include <math.h>
#include <stdlib.h>

enum { READY_ENOUGH = 8 };

static int turn_by_worker(const void *left, const void *right)
{
	const struct turn_made *a = left, *b = right;

	if (a->worker != b->worker)
		return a->worker > b->worker ? 1 : -1;
	return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

static int turn_by_place(const void *left, const void *right)
{
	const struct turn_made *a = left, *b = right;

	if (a->round != b->round)
		return a->round > b->round ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Of batches sorted by worker. */
static size_t turn_set_places(struct turn_made *made, size_t count)
{
	size_t rank = 0, round = 0;

	for (size_t i = 0; i < count; i++, round++) {
		if (i > 0 && made[i].worker != made[i - 1].worker) {
			rank++;
			round = 0;
		}
		made[i].round = round;
		made[i].rank = rank;
	}
	return rank + 1;
}

size_t turn_order(struct turn_made *made, size_t count)
{
	size_t workers;

	if (count == 0)
		return 0;
	qsort(made, count, sizeof(*made), turn_by_worker);
	workers = turn_set_places(made, count);
	qsort(made, count, sizeof(*made), turn_by_place);
	return workers;
}

void turn_order_next(struct turn_made *made, size_t count, size_t workers)
{
	for (size_t i = 0; i < count; i++)
		made[i].rank = (made[i].rank + workers - 1) % workers;
	if (count > 0)
		qsort(made, count, sizeof(*made), turn_by_place);
}

bool turn_proof_add(struct turn_sums *sums, const struct turn_window *window,
		    double io_s_per_byte)
{
	double as_was = turn_replay_wait(&window->replay, NAN, window->settle);
	double cached =
		turn_replay_wait(&window->replay, io_s_per_byte, window->settle);

	if (!(window->wall_s > 0) || as_was < 0 || cached < 0)
		return false;
	sums->wall += window->wall_s;
	sums->blocked += window->blocked_s;
	sums->as_was += as_was;
	sums->cached += cached;
	sums->windows++;
	return true;
}

bool turn_proof_of(const struct turn_sums *sums, struct turn_proof *proof)
{
	*proof = (struct turn_proof){NAN, NAN, NAN, false};
	if (sums->windows == 0)
		return false;
	proof->prep = sums->cached / sums->wall;
	proof->fetch = (sums->blocked - sums->cached) / sums->wall;
	proof->off = (sums->as_was - sums->blocked) / sums->wall;
	proof->valid = fabs(proof->off) <= TURN_CLOSE;
	return true;
}

/* ---- what cached windows cost ---- */

void turn_costs_read(struct turn_costs *costs, const struct turn_batch *batch)
{
	costs->io_s += batch->io_s;
	costs->bytes += (double)batch->bytes;
}

void turn_costs_deliver(struct turn_costs *costs, const struct turn_delivery *delivery)
{
	double took =
		delivery->delivered_s - fmax(delivery->requested_s, delivery->made_s);

	costs->all_s += took;
	costs->all++;
	if (delivery->made_s > delivery->requested_s)
		return;
	costs->ready_s += took;
	costs->ready++;
}

double turn_costs_io(const struct turn_costs *costs)
{
	return costs->bytes > 0 ? costs->io_s / costs->bytes : 0;
}

double turn_costs_handover(const struct turn_costs *costs)
{
	if (costs->ready >= READY_ENOUGH)
		return costs->ready_s / (double)costs->ready;
	return costs->all > 0 ? costs->all_s / (double)costs->all : NAN;
}

double turn_costs_pickup(const struct turn_costs *costs)
{
	return costs->pickups > 0 ? costs->pickup_s / (double)costs->pickups : 0;
}
