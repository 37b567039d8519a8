/* ranks.c - agrees on a batch, tells orders and waits for them. */
#include "profiler/hook/ranks.h"
#include "loader/base/clock.h"
#include "profiler/io/base/owner.h"

#include <stdio.h>
#include <string.h>

#define MS       UINT64_C(1000000)
#define LOOK_NS  (MS / 5)
#define ALIVE_NS (100 * MS) /* between two looks at whether others live */

/* One that has not come for so long, while others wait, will not: so long it may write a
 * checkpoint. */
#define PATIENCE_NS (120000 * MS)

/* ---- who ---- */

bool ranks_join(struct io_ranks *ranks, uint32_t rank)
{
	uint64_t self = owner_self(), had = 0;

	return atomic_compare_exchange_strong(&ranks->ranks[rank].owner, &had, self) ||
	       had == self ||
	       (owner_is_gone(had) &&
		atomic_compare_exchange_strong(&ranks->ranks[rank].owner, &had, self));
}

void ranks_quit(struct io_ranks *ranks, uint32_t rank)
{
	uint64_t self = owner_self();

	atomic_compare_exchange_strong(&ranks->ranks[rank].owner, &self, 0);
}

static uint32_t ranks_world(const struct io_ranks *ranks)
{
	uint32_t world = ranks->world;

	return world < IO_RANKS ? world : IO_RANKS;
}

uint32_t ranks_joined(const struct io_ranks *ranks)
{
	uint32_t joined = 0;

	for (uint32_t i = 0; i < ranks_world(ranks); i++)
		joined += ranks->ranks[i].owner != 0;
	return joined;
}

void ranks_end(struct io_ranks *ranks, const char *why)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&ranks->over, &none, 1))
		return;
	io_copy_text(ranks->why, sizeof(ranks->why), why);
	atomic_store(&ranks->over, 2);
}

const char *ranks_over(const struct io_ranks *ranks)
{
	return atomic_load(&ranks->over) == 2 ? ranks->why : NULL;
}

static void ranks_end_of(struct io_ranks *ranks, uint32_t rank, const char *what)
{
	char why[IO_WHY];

	snprintf(why, sizeof(why), "rank %u of %u %s", rank, ranks_world(ranks), what);
	ranks_end(ranks, why);
}

/* ---- where ---- */

static uint32_t ranks_foremost(uint64_t at)
{
	return (uint32_t)at;
}

static uint32_t ranks_switch(uint64_t at)
{
	return (uint32_t)(at >> 32);
}

bool ranks_come(struct io_ranks *ranks, uint32_t batch)
{
	uint64_t at = atomic_load(&ranks->at);

	do {
		if (ranks_switch(at) != 0 && batch >= ranks_switch(at))
			return true;
		if (batch <= ranks_foremost(at))
			return false;
	} while (!atomic_compare_exchange_weak(&ranks->at, &at,
					       (at & ~(uint64_t)UINT32_MAX) | batch));
	return false;
}

bool ranks_agree(struct io_ranks *ranks, uint32_t batch, uint32_t round)
{
	uint64_t at = atomic_load(&ranks->at), foremost, rounds;

	do {
		if (ranks_switch(at) != 0)
			return batch >= ranks_switch(at);
		foremost = ranks_foremost(at) > batch ? ranks_foremost(at) : batch;
		rounds = (foremost - batch) / round + 1;
	} while (!atomic_compare_exchange_weak(
		&ranks->at, &at, (batch + rounds * round) << 32 | foremost));
	return false;
}

/* ---- what ---- */

static void ranks_wait(uint64_t *looked, uint64_t now)
{
	if (now - *looked > ALIVE_NS)
		*looked = now;
	clock_sleep_until(now + LOOK_NS);
}

/* False: it is gone, or will not come. */
static bool ranks_is_to_come(struct io_ranks *ranks, uint32_t rank, uint64_t waited)
{
	if (owner_is_gone(ranks->ranks[rank].owner))
		ranks_end_of(ranks, rank, "has ended");
	else if (!ranks->ranks[rank].came && waited > PATIENCE_NS)
		ranks_end_of(
			ranks, rank,
			"asks for no batch, where all ranks are to switch windows");
	return ranks_over(ranks) == NULL;
}

/* Until that rank has come and done what was told. False: it is over. */
static bool ranks_await_done(struct io_ranks *ranks, uint32_t rank)
{
	uint64_t began = clock_now(), looked = began;

	/* it leaves before it has done the last order of where it came before */
	while (ranks->ranks[rank].done < ranks->told || !ranks->ranks[rank].came) {
		uint64_t now = clock_now();

		if (ranks_over(ranks) != NULL ||
		    (now - looked > ALIVE_NS &&
		     !ranks_is_to_come(ranks, rank, now - began)))
			return false;
		ranks_wait(&looked, now);
	}
	return ranks_over(ranks) == NULL;
}

bool ranks_tell(struct io_ranks *ranks, const struct ranks_order *order)
{
	atomic_store(&ranks->ranks[0].came, 1);
	for (uint32_t i = 1; i < ranks_world(ranks); i++)
		if (!ranks_await_done(ranks, i))
			return false;
	ranks->task = order->task;
	ranks->number = order->number;
	ranks->ns = order->ns;
	ranks->share = order->share;
	if (order->task >= RANKS_GO) {
		atomic_store(&ranks->at, ranks_foremost(ranks->at));
		atomic_store(&ranks->ranks[0].came, 0);
	}
	atomic_fetch_add(&ranks->told, 1);
	return true;
}

bool ranks_await(struct io_ranks *ranks, uint32_t rank, struct ranks_order *order)
{
	uint64_t began = clock_now(), looked = began, now;

	atomic_store(&ranks->ranks[rank].came, 1);
	while (ranks->ranks[rank].done >= ranks->told) {
		now = clock_now();
		if (ranks_over(ranks) != NULL ||
		    (now - looked > ALIVE_NS &&
		     !ranks_is_to_come(ranks, 0, now - began)))
			return false;
		ranks_wait(&looked, now);
	}
	*order = (struct ranks_order){ranks->task, ranks->number, ranks->ns,
				      ranks->share};
	if (order->task >= RANKS_GO)
		atomic_store(&ranks->ranks[rank].came, 0);
	return true;
}

void ranks_did(struct io_ranks *ranks, uint32_t rank)
{
	atomic_fetch_add(&ranks->ranks[rank].done, 1);
}
