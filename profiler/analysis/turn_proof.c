/* turn_proof.c - sums replays over windows, and what they are given. */
#include "profiler/analysis/turn_proof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CLOSE .02 /* share: a replay that is farther off proves nothing */

enum { READY_ENOUGH = 8 };

static int turn_by_begin(const void *left, const void *right)
{
	const struct turn_made *a = left, *b = right;

	return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

static int turn_by_place(const void *left, const void *right)
{
	const struct turn_made *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

/* Of one worker: how many batches it has so far. */
struct turn_maker {
	uint64_t worker;
	size_t batches;
};

/* By rounds, and in each as the workers began with their first ones. */
static void turn_set_places(struct turn_made *made, size_t count,
			    struct turn_maker *makers)
{
	size_t workers = 0;

	for (size_t i = 0; i < count; i++) {
		size_t which = 0;

		while (which < workers && makers[which].worker != made[i].worker)
			which++;
		if (which == workers)
			makers[workers++] = (struct turn_maker){made[i].worker, 0};
		made[i].place = makers[which].batches++ * count + which;
	}
}

int turn_order(struct turn_made *made, size_t count, bool any_order)
{
	struct turn_maker *makers = calloc(count + 1, sizeof(*makers));

	if (makers == NULL)
		return -ENOMEM;
	if (count > 0)
		qsort(made, count, sizeof(*made), turn_by_begin);
	turn_set_places(made, count, makers);
	if (count > 0 && !any_order)
		qsort(made, count, sizeof(*made), turn_by_place);
	free(makers);
	return 0;
}

struct turn_sums {
	double wall, blocked;
	double as_was, cached; /* what replays wait */
};

static bool turn_proof_add(struct turn_sums *sums, const struct turn_window *window,
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
	return true;
}

bool turn_proof_of(const struct turn_window *windows, size_t count,
		   double io_s_per_byte, struct turn_proof *proof)
{
	struct turn_sums sums = {0};

	*proof = (struct turn_proof){NAN, NAN, NAN, false, 0};
	for (size_t i = 0; i < count; i++)
		proof->windows += turn_proof_add(&sums, &windows[i], io_s_per_byte);
	if (proof->windows == 0)
		return false;
	proof->prep = sums.cached / sums.wall;
	proof->fetch = (sums.blocked - sums.cached) / sums.wall;
	proof->off = (sums.as_was - sums.blocked) / sums.wall;
	proof->valid = fabs(proof->off) <= CLOSE;
	return true;
}

double turn_proof_io(const struct turn_batch *cached, size_t count)
{
	double seconds = 0, bytes = 0;

	for (size_t i = 0; i < count; i++) {
		seconds += cached[i].io_s;
		bytes += (double)cached[i].bytes;
	}
	return bytes > 0 ? seconds / bytes : 0;
}

double turn_proof_handover(const struct turn_delivery *deliveries, size_t count)
{
	double all = 0, ready = 0;
	size_t ready_count = 0;

	for (size_t i = 0; i < count; i++) {
		const struct turn_delivery *one = &deliveries[i];
		double begin = fmax(one->requested_s, one->made_s);

		all += one->delivered_s - begin;
		if (one->made_s > one->requested_s)
			continue;
		ready += one->delivered_s - begin;
		ready_count++;
	}
	if (ready_count >= READY_ENOUGH)
		return ready / (double)ready_count;
	return count > 0 ? all / (double)count : NAN;
}
