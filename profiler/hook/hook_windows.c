/* hook_windows.c - brings a loader into the states of windows, and counts what it does there. */
#include "profiler/hook/hook_ranks.h"
#include "profiler/io/dsa_io.h"

#include <errno.h>
#include <string.h>

/* A list has so much more than the window before took: the next one may go faster. */
#define SPARE_TENTHS 3

/* Samples of the data that are drawn into and out of memory, by the window's number. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Windows that show that batches of a list do not come again as they were: of those most of
 * whose batches did not, and of those some of whose did not. */
enum { ODD_ENOUGH = 2, PARTLY_ODD_ENOUGH = 4 };

/* ---- states ---- */

bool hook_done(struct hook *hook, int result)
{
	if (result < 0 && hook->ranks != NULL)
		ranks_end(hook->ranks,
			  "the loader of its first rank failed in a window");
	if (result < 0)
		driver_end(&hook->driver);
	return result >= 0;
}

void hook_drain(void *loader)
{
	struct hook *hook = loader;

	atomic_store(&hook->page->throttled, 0);
	atomic_store(&hook->page->loaded, 0);
	atomic_store(&hook->page->busy_until_ns, 0);
	if (!driver_stopped(&hook->driver) &&
	    hook_tell(hook, &(struct ranks_order){.task = RANKS_DRAIN}))
		hook_done(hook, hook->calls.drain());
}

static bool hook_start(struct hook *hook, uint32_t source)
{
	const struct ranks_order order = {
		.task = RANKS_START, .number = source, .ns = hook->step_ns};

	return hook_tell(hook, &order) && hook_done(hook, hook->calls.start(source));
}

static void hook_resume(void *loader)
{
	struct hook *hook = loader;

	if (!driver_stopped(&hook->driver))
		hook_start(hook, HOOK_STREAM);
}

/* Batches that a window may take more, as other ranks have to come to its end. */
static uint32_t hook_beyond(const struct hook *hook)
{
	uint32_t round = hook->driver.round;

	return hook->ranks == NULL ? 0 : (RANKS_BEYOND + round - 1) / round * round;
}

/* Steps that a list may have: not more files than there is room for, as far as batches
 * before it tell. */
static uint64_t hook_most(const struct hook *hook)
{
	uint64_t batches = io_page_total(hook->page, IO_batches);
	uint64_t opens = io_page_total(hook->page, IO_opens);
	uint64_t most = HOOK_LIST_BATCHES / 2, ahead = hook->driver.settle +
						       hook->driver.beyond +
						       hook_beyond(hook) + hook->ahead;
	uint64_t room = opens > 0 ? IO_RANGES * batches / opens : most;

	room = room > ahead ? (room - ahead) * 10 / (10 + SPARE_TENTHS) : 0;
	return room < most ? room : most;
}

/* Batches that a window of so many steps at the pace of the last real one takes: whole
 * rounds, and as many of them as every window has. */
static uint32_t hook_wanted(const struct hook *hook, const struct trace_window *window)
{
	uint64_t steps =
		hook->batch_ns > 0 ? window->length_ns / hook->batch_ns + 1 : 0;
	uint64_t most = hook_most(hook), round = hook->driver.round;

	if (steps < window->min_steps)
		steps = window->min_steps;
	if (steps > most)
		steps = most;
	steps += steps * SPARE_TENTHS / 10;
	if (steps < DRIVER_ROUNDS * round)
		steps = DRIVER_ROUNDS * round;
	return hook->driver.settle + hook->driver.beyond + hook_beyond(hook) +
	       (uint32_t)((steps + round - 1) / round * round);
}

/* Copies or makes batches for a list, in all ranks. */
static int hook_list(struct hook *hook, const struct trace_window *window)
{
	const struct ranks_order order = {.task = RANKS_LIST,
					  .number = hook_wanted(hook, window)};

	return hook_tell(hook, &order) ? hook->calls.list(order.number) : -EPIPE;
}

/* Two mirrored blocks have one list; windows beside them any. */
static bool hook_has_list(struct hook *hook, const struct trace_window *window)
{
	int result;

	if (hook->pair == window->block / 2 ||
	    (hook->pair != UINT32_MAX && window->block == UINT32_MAX))
		return true;
	hook->pair = UINT32_MAX;
	hook_list_begin(&hook->list, hook->page);
	result = hook_list(hook, window);
	hook_list_end(&hook->list, hook->page);
	if (!hook_done(hook, result))
		return false;
	hook->listed = (uint32_t)result;
	hook->pair = window->block / 2;
	return true;
}

/* Where there are no lists, one of copies serves all blocks. */
static bool hook_has_pool(struct hook *hook, const struct trace_window *window)
{
	if (hook->pair == UINT32_MAX && !hook_done(hook, hook_list(hook, window)))
		return false;
	hook->pair = 0;
	return true;
}

static void hook_look_at_files(struct trace_window *window, uint64_t *resident)
{
	if (dsa_io_list_resident(&window->made.listed_bytes, resident) < 0)
		*resident = UINT64_MAX;
}

/* True where a window is to have files of which some are not in memory. What was evicted comes
 * only once; of a list that begins anew all the time nothing is. */
static bool hook_draws(const struct hook *hook, struct trace_window *window)
{
	if (window->kind != TRACE_REAL || (window->flags & TRACE_DRAW) == 0)
		return false;
	if (hook->listed >=
	    hook->driver.settle + hook_beyond(hook) + hook->driver.round)
		return true;
	window->flags = (window->flags & ~(uint32_t)TRACE_DRAW) | TRACE_WARM;
	return false;
}

static void hook_evict(struct hook *hook, struct trace_window *window, uint64_t seed)
{
	uint32_t round = hook->driver.round, beyond = hook_beyond(hook);

	window->most_steps =
		(hook->listed - hook->driver.settle - beyond) / round * round;
	dsa_io_list_evict(1 - window->hit, seed, &window->made.evicted_bytes);
}

/* A file that can't be read or evicted shows in the window's proof. */
static void hook_set_files(struct hook *hook, struct trace_window *window)
{
	uint64_t seed = hook->trace->seed + SEED_STEP * (hook->driver.index + 1);
	bool draws = hook_draws(hook, window);
	const struct ranks_order order = {
		.task = RANKS_FILES, .ns = seed, .share = draws ? 1 - window->hit : 0};

	if (!hook_tell(hook, &order))
		return;
	dsa_io_list_read(1, seed);
	if (draws)
		hook_evict(hook, window, seed);
	hook_look_at_files(window, &window->made.begin_resident);
}

/* -1: of no kind that can be done here. */
static int hook_source_of(const struct hook *hook, const struct trace_window *window)
{
	switch ((enum trace_kind)window->kind) {
	case TRACE_SYNTHETIC:
		return HOOK_POOL;
	case TRACE_LOADED:
		return hook->trace->loader.workers > 0 &&
				       hook->trace->loader.beside == 0
			       ? HOOK_LOADED
			       : -1;
	case TRACE_PREP:
	case TRACE_CACHED:
		return hook->no_list ? -1 : HOOK_LIST;
	case TRACE_REAL:
		return hook->no_list || window->block == UINT32_MAX ? HOOK_STREAM
								    : HOOK_LIST;
	default:
		return -1;
	}
}

/* Has what the source gives. */
static bool hook_prepare(struct hook *hook, int source,
			 const struct trace_window *window)
{
	if (source == HOOK_STREAM)
		return true;
	return hook->no_list ? hook_has_pool(hook, window)
			     : hook_has_list(hook, window);
}

static int hook_enter(void *loader, struct trace_window *window)
{
	struct hook *hook = loader;
	int source = hook_source_of(hook, window);

	hook->begun = false;
	if (source < 0)
		return -ENOTSUP;
	if (driver_stopped(&hook->driver) || !hook_prepare(hook, source, window))
		return -EIO;
	hook->compares =
		!hook->no_list && (source == HOOK_LIST || source == HOOK_LOADED);
	if (hook->no_list) /* asked before that was known */
		window->flags &= ~(uint32_t)(TRACE_DRAW | TRACE_WARM);
	if (hook->compares)
		hook_set_files(hook, window);
	hook->counted = atomic_load(&hook->page->batch_count);
	atomic_store(&hook->page->throttled, window->kind == TRACE_REAL);
	if (window->kind == TRACE_PREP)
		return 0; /* hook_work() makes them */
	atomic_store(&hook->page->given, 0);
	atomic_store(&hook->page->loaded_from, hook->counted);
	atomic_store(&hook->page->step_ns, hook->step_ns);
	atomic_store(&hook->page->loaded, source == HOOK_LOADED ? hook->ahead : 0);
	if (!hook_start(hook, (uint32_t)source))
		return -EIO;
	hook_begin_io(hook);
	hook->begun = true;
	return source == HOOK_STREAM;
}

static void hook_work(void *loader, const struct trace_window *window,
		      uint64_t length_ns, bool measured)
{
	const struct ranks_order order = {
		.task = RANKS_MAKE, .number = window->workers, .ns = length_ns};
	struct hook *hook = loader;

	if (!driver_stopped(&hook->driver) && !hook_tell(hook, &order))
		return;
	if (measured) { /* a new worker's first batch reads more */
		hook->counted = atomic_load(&hook->page->batch_count);
		hook_begin_io(hook);
	}
	if (!driver_stopped(&hook->driver))
		hook_done(hook, hook->calls.make(window->workers, length_ns));
}

/* The first byte of the reason tells that to dsa, which may read it meanwhile. */
void hook_drop_list(struct hook *hook, const char *why)
{
	char *no_list = hook->trace->loader.no_list;

	if (hook->no_list)
		return;
	io_copy_text(no_list + 1, TRACE_NO_LIST - 1, why + 1);
	__atomic_store_n(no_list, why[0], __ATOMIC_RELEASE);
	hook->no_list = true;
}

static void hook_judge_list(struct hook *hook, const struct trace_made *made)
{
	if (!hook->compares || made->batches == 0)
		return;
	if (made->other == 0)
		hook->alike++;
	else
		hook->partly_odd++;
	if (2 * made->other > made->batches)
		hook->odd++;
	if (hook->partly_odd > hook->alike &&
	    (hook->odd >= ODD_ENOUGH || hook->partly_odd >= PARTLY_ODD_ENOUGH))
		hook_drop_list(hook, "a data set that reads other files each time");
}

/* Where epochs end, batches are made for steps that do not count. */
static void hook_note_pace(struct hook *hook, const struct trace_window *window)
{
	uint64_t took = window->end.time_ns - window->begin.time_ns;
	uint64_t made = window->made.batches;

	hook->step_ns = took / window->steps;
	hook->batch_ns = took / (made > window->steps ? made : window->steps);
}

static void hook_leave(void *loader, struct trace_window *window)
{
	struct hook *hook = loader;
	struct trace_made *made = &window->made;

	hook_add_batches(hook, window);
	if (!hook_tells_io(hook, window))
		window->batch_records = 0;
	if (window->kind == TRACE_LOADED && atomic_load(&hook->page->loaded) == 0)
		made->batches = 0; /* workers gave up: it was not loaded to its end */
	hook_end_io(hook, made);
	made->lost += hook->compares && !hook->list.whole;
	made->unlisted = hook->compares ? hook->list.unlisted : 0;
	made->throttled = window->end.counters[TRACE_throttle_reads] -
			  window->begin.counters[TRACE_throttle_reads];
	if (hook->compares)
		hook_look_at_files(window, &made->end_resident);
	hook_judge_list(hook, made);
	if (window->kind == TRACE_REAL && window->steps > 0)
		hook_note_pace(hook, window);
}

static uint32_t hook_still(void *loader)
{
	struct hook *hook = loader;
	int result = hook->calls.still();

	return hook_done(hook, result) ? (uint32_t)result : TRACE_NO_DEVICES;
}

/* ---- counters ---- */

static void hook_count(void *loader)
{
	struct hook *hook = loader;
	static const struct {
		enum trace_counter to;
		enum io_counter from;
	} same[] = {
		{TRACE_prepared_samples, IO_samples},
		{TRACE_prep_cpu_ns, IO_cpu_ns},
		{TRACE_fetched_bytes, IO_bytes},
		{TRACE_fetch_ns, IO_io_ns},
		{TRACE_throttle_reads, IO_throttle_reads},
		{TRACE_throttle_bytes, IO_throttle_bytes},
		{TRACE_throttle_busy_ns, IO_throttle_busy_ns},
		{TRACE_prep_padded, IO_padded},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		driver_count(&hook->driver, same[i].to,
			     io_page_total(hook->page, same[i].from));
	if (!hook->watched)
		driver_count(&hook->driver, TRACE_prep_ns,
			     io_page_total(hook->page, IO_batch_ns) -
				     io_page_total(hook->page, IO_io_ns));
}

const struct driver_ops hook_windows = {
	.drain = hook_drain,
	.enter = hook_enter,
	.resume = hook_resume,
	.work = hook_work,
	.count = hook_count,
	.leave = hook_leave,
	.still = hook_still,
	.agree = hook_agree,
};
