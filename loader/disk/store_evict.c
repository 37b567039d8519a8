/*
 * store_evict.c - makes room in a folder that several processes fill.
 *
 * A sweep over all objects lists the oldest of them; these go one after the other, until
 * the list is used up. One that was read or replaced after the sweep is passed over: what
 * is left is older than all that is not in the list, so the order is exact. A sweep asks
 * for each file's time once, for as many evictions as a sixteenth of the files.
 */
#include "loader/base/bytes/array.h"
#include "loader/base/clock.h"
#include "loader/disk/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	LEAST = 64,
	PART = 16,
	SWEEPS = 2, /* for one eviction: where no file can be removed it ends */
};

/* What only keeps gives up what nobody has read for a week: other data sets, mostly. A use may
 * have been noted a day before the last one. */
#define UNUSED_NS (INT64_C(8) * 86400 * 1000000000)

struct store_victim {
	struct stored_key key;
	int64_t time_ns;
};

struct sweep {
	struct store_victim *list;
	size_t count, room;
	int64_t before_ns; /* what is younger stays */
};

static int sweep_each(void *context, const struct stored_key *key, int64_t time_ns)
{
	struct sweep *sweep = context;
	struct store_victim *list = sweep->list;

	if (time_ns >= sweep->before_ns)
		return 0;
	list = array_grow(list, &sweep->room, sweep->count + 1, sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	sweep->list = list;
	list[sweep->count++] = (struct store_victim){*key, time_ns};
	return 0;
}

/* The oldest last. */
static int sweep_compare(const void *a, const void *b)
{
	const struct store_victim *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return (x->key.id[0] < y->key.id[0]) - (x->key.id[0] > y->key.id[0]);
}

/* Lists the oldest. False: there is nothing that may go. */
static bool store_sweep(struct store *store)
{
	struct store_victims *victims = &store->victims;
	bool keeps = store->order == STORE_KEEPS;
	struct sweep sweep = {.before_ns = keeps ? (int64_t)clock_real() - UNUSED_NS
						 : INT64_MAX};
	const struct store_scan scan = {
		.each = sweep_each, .context = &sweep, .times = true};
	size_t most;

	if (keeps && victims->swept)
		return false;
	victims->swept = true;
	if (store_list(store, &scan) < 0) {
		free(sweep.list);
		return false;
	}
	if (sweep.count > 0)
		qsort(sweep.list, sweep.count, sizeof(*sweep.list), sweep_compare);
	most = keeps ? sweep.count : LEAST + sweep.count / PART;
	victims->count = sweep.count < most ? sweep.count : most;
	for (size_t i = 0; i < victims->count; i++)
		sweep.list[i] = sweep.list[sweep.count - victims->count + i];
	free(victims->list);
	victims->list = sweep.list;
	return victims->count > 0;
}

static bool store_unused_since(const struct store *store,
			       const struct store_victim *victim)
{
	char path[STORED_NAME];
	struct stat status;

	stored_path(&victim->key, path);
	return fstatat(store->folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       store_time(store, &status) == victim->time_ns;
}

/* Removes the object that goes next. False: none is left. */
static bool store_evict(struct store *store)
{
	struct store_victims *victims = &store->victims;

	for (int sweeps = 0;;) {
		const struct store_victim *victim;

		if (victims->count == 0 && (sweeps++ == SWEEPS || !store_sweep(store)))
			return false;
		victim = &victims->list[--victims->count];
		if (store_unused_since(store, victim) &&
		    store_remove(store, &victim->key)) {
			store->evicted++;
			store->page->evicted++;
			return true;
		}
	}
}

void store_release(struct store *store, uint64_t bytes)
{
	uint64_t held = store->page->bytes;

	while (!atomic_compare_exchange_weak(&store->page->bytes, &held,
					     held > bytes ? held - bytes : 0))
		;
}

static bool store_take(struct store *store, uint64_t bytes)
{
	uint64_t held = store->page->bytes;

	do {
		uint64_t bound = store->bound;

		if (held > bound || bytes > bound - held)
			return false;
	} while (!atomic_compare_exchange_weak(&store->page->bytes, &held,
					       held + bytes));
	return true;
}

bool store_reserve(struct store *store, uint64_t bytes)
{
	bool taken;

	if (bytes > store->bound)
		return false;
	pthread_mutex_lock(&store->lock);
	do {
		taken = store_take(store, bytes);
	} while (!taken && store_evict(store));
	pthread_mutex_unlock(&store->lock);
	return taken;
}
