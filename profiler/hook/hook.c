/* hook.c - the windows of a session for a loader that the program brought. */
#include "profiler/hook/hook.h"
#include "loader/base/clock.h"
#include "loader/driver.h"
#include "profiler/hook/hook_describe.h"
#include "profiler/hook/hook_list.h"
#include "profiler/io/dsa_io.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list has so much more than the window before took: the next one may go faster. */
#define SPARE_TENTHS 3

/* Of batches: these wait for code, where no data is read. */
#define BLIND_SHARE .05

/* Percent of the time in I/O: the thread that asks for batches reads them itself. */
#define OWN_READS 98

/* Samples of the data that are drawn into and out of memory, by the window's number. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)

static struct hook {
	struct driver driver;
	struct hook_calls calls;
	struct trace *trace;
	struct io_page *page;
	struct trace_process *process;
	struct hook_list list;
	uint32_t pair;   /* of blocks that the list is of; UINT32_MAX: of none */
	uint32_t listed; /* batches of it before it begins anew; 0: all the time */
	uint64_t
		counted; /* batches of the ring that are in a window's proof, or before */
	bool no_list;    /* batches can't be given again */
	uint32_t ahead; /* batches that its workers are */
	bool compares;  /* the window's batches are those of the list */
	bool watched;   /* it may have threads and processes of its own */
	uint32_t blind; /* batches of the window for which no read was seen, but storage
			 * waited for */
	struct hook_seen seen; /* when the window began, */
	uint64_t io_ns;        /* and time in I/O of all of them; */
	uint64_t own_io_ns;    /* in it, the thread that asks for batches */
	uint64_t step_ns;      /* of the last real window */
} hook;

/* ---- what batches took ---- */

static void hook_store_batch(const struct io_batch *batch, struct trace_window *window)
{
	struct trace *trace = hook.trace;
	uint32_t at = atomic_load_explicit(&trace->batch_count, memory_order_relaxed);

	/* Where a worker's data ended it made none. */
	if (batch->samples == 0 ||
	    (window->kind != TRACE_REAL && window->kind != TRACE_CACHED))
		return;
	if (at >= TRACE_BATCHES) {
		atomic_fetch_add(&trace->dropped_batches, 1);
		return;
	}
	trace->batches[at] = (struct trace_batch){
		.window = hook.driver.index,
		.worker = batch->pid,
		.begin_ns = batch->begin_ns,
		.end_ns = batch->end_ns,
		.io_ns = batch->io_ns,
		.cpu_ns = batch->cpu_ns,
		.bytes = batch->bytes,
		.samples = batch->samples,
		.opens = batch->opens,
	};
	window->batch_records++;
	atomic_store_explicit(&trace->batch_count, at + 1, memory_order_release);
}

static void hook_add_batch(const struct io_batch *batch, struct trace_window *window)
{
	struct trace_made *made = &window->made;

	if (hook.watched && batch->pid != (uint32_t)getpid())
		return; /* of a loader below the one that is watched */
	hook.own_io_ns += batch->own_io_ns;
	hook.blind += batch->bytes == 0 && batch->storage_bytes > 0;
	made->batches++;
	made->unseen |= batch->flags & HOOK_UNSEEN;
	made->other += hook.compares && !hook_list_agrees(&hook.list, batch);
	made->opens += batch->opens;
	made->bytes += batch->bytes;
	made->storage_bytes += batch->storage_bytes;
	made->io_ns += batch->io_ns;
	hook_store_batch(batch, window);
}

/* Those that were made since the last call. */
static void hook_add_batches(struct trace_window *window)
{
	uint64_t end = atomic_load(&hook.page->batch_count);
	struct io_batch batch;

	for (; hook.counted < end; hook.counted++) {
		if (hook_list_record(hook.page, hook.counted, &batch))
			hook_add_batch(&batch, window);
		else
			window->made.lost++;
	}
}

/* From now on time in I/O is the window's. */
static void hook_begin_io(void)
{
	hook.seen = hook_seen_before(hook.page);
	hook.blind = 0;
	hook.io_ns = io_page_total(hook.page, IO_io_ns);
	hook.own_io_ns = 0;
}

/* What the kernel counted beyond what was seen. Some batches wait for code alone. */
static void hook_end_io(struct trace_made *made)
{
	struct hook_seen seen = hook_seen_after(hook.page);

	seen.proc_bytes -= hook.seen.proc_bytes;
	seen.seen_bytes -= hook.seen.seen_bytes;
	made->proc_bytes += seen.proc_bytes;
	made->seen_bytes += seen.seen_bytes;
	if (hook_seen_lacks(&seen, made->batches) ||
	    (hook.blind > 1 && hook.blind > BLIND_SHARE * made->batches))
		made->unseen |= TRACE_CALLS;
}

/* Of batches that other threads read nobody knows how long the asking one waited for
 * that. */
static bool hook_tells_io(const struct trace_window *window)
{
	uint64_t all = io_page_total(hook.page, IO_io_ns) - hook.io_ns;

	return !hook.watched || (all > 0 && window->made.unseen == 0 &&
				 100 * hook.own_io_ns >= OWN_READS * all);
}

/* ---- states ---- */

/* What Python could not do it tells the program itself. */
static bool hook_done(int result)
{
	if (result < 0)
		driver_end(&hook.driver);
	return result >= 0;
}

static void hook_drain(void *loader)
{
	(void)loader;
	atomic_store(&hook.page->throttled, 0);
	atomic_store(&hook.page->loaded, 0);
	atomic_store(&hook.page->busy_until_ns, 0);
	if (!driver_stopped(&hook.driver))
		hook_done(hook.calls.drain());
}

static void hook_resume(void *loader)
{
	(void)loader;
	if (!driver_stopped(&hook.driver))
		hook_done(hook.calls.start(HOOK_STREAM));
}

/* Steps that a list may have: not more files than there is room for, as far as batches
 * before it tell. */
static uint64_t hook_most(void)
{
	uint64_t batches = io_page_total(hook.page, IO_batches);
	uint64_t opens = io_page_total(hook.page, IO_opens);
	uint64_t most = HOOK_LIST_BATCHES / 2, ahead = hook.driver.settle + hook.ahead;
	uint64_t room = opens > 0 ? IO_RANGES * batches / opens : most;

	room = room > ahead ? (room - ahead) * 10 / (10 + SPARE_TENTHS) : 0;
	return room < most ? room : most;
}

/* Batches that a window of so many steps at the pace of the last real one takes: whole
 * rounds, and as many of them as every window has. */
static uint32_t hook_wanted(const struct trace_window *window)
{
	uint64_t steps = hook.step_ns > 0 ? window->length_ns / hook.step_ns + 1 : 0;
	uint64_t most = hook_most(), round = hook.driver.round;

	if (steps < window->min_steps)
		steps = window->min_steps;
	if (steps > most)
		steps = most;
	steps += steps * SPARE_TENTHS / 10;
	if (steps < DRIVER_ROUNDS * round)
		steps = DRIVER_ROUNDS * round;
	return hook.driver.settle + (uint32_t)((steps + round - 1) / round * round);
}

/* Two mirrored blocks have one list; windows beside them any. */
static bool hook_has_list(const struct trace_window *window)
{
	int result;

	if (hook.pair == window->block / 2 ||
	    (hook.pair != UINT32_MAX && window->block == UINT32_MAX))
		return true;
	hook.pair = UINT32_MAX;
	hook_list_begin(&hook.list, hook.page);
	result = hook.calls.list(hook_wanted(window));
	hook_list_end(&hook.list, hook.page);
	if (!hook_done(result))
		return false;
	hook.listed = (uint32_t)result;
	hook.pair = window->block / 2;
	return true;
}

/* Where there are no lists, one of copies serves all blocks. */
static bool hook_has_pool(const struct trace_window *window)
{
	if (hook.pair == UINT32_MAX && !hook_done(hook.calls.list(hook_wanted(window))))
		return false;
	hook.pair = 0;
	return true;
}

static void hook_look_at_files(struct trace_window *window, uint64_t *resident)
{
	if (dsa_io_list_resident(&window->made.listed_bytes, resident) < 0)
		*resident = UINT64_MAX;
}

/* What was evicted comes only once; of a list that begins anew all the time nothing is. */
static void hook_evict(struct trace_window *window, uint64_t seed)
{
	uint32_t round = hook.driver.round;

	if (hook.listed < hook.driver.settle + round) {
		window->flags = (window->flags & ~(uint32_t)TRACE_DRAW) | TRACE_WARM;
		return;
	}
	window->most_steps = (hook.listed - hook.driver.settle) / round * round;
	dsa_io_list_evict(1 - window->hit, seed, &window->made.evicted_bytes);
}

/* A file that can't be read or evicted shows in the window's proof. */
static void hook_set_files(struct trace_window *window)
{
	uint64_t seed = hook.trace->seed + SEED_STEP * (hook.driver.index + 1);

	dsa_io_list_read(1, seed);
	if (window->kind == TRACE_REAL && (window->flags & TRACE_DRAW) != 0)
		hook_evict(window, seed);
	hook_look_at_files(window, &window->made.begin_resident);
}

/* -1: of no kind that can be done here. */
static int hook_source_of(const struct trace_window *window)
{
	switch ((enum trace_kind)window->kind) {
	case TRACE_SYNTHETIC:
		return HOOK_POOL;
	case TRACE_LOADED:
		return hook.trace->loader.workers > 0 ? HOOK_LOADED : -1;
	case TRACE_PREP:
	case TRACE_CACHED:
		return hook.no_list ? -1 : HOOK_LIST;
	case TRACE_REAL:
		return hook.no_list || window->block == UINT32_MAX ? HOOK_STREAM
								   : HOOK_LIST;
	default:
		return -1;
	}
}

/* Has what the source gives. */
static bool hook_prepare(int source, const struct trace_window *window)
{
	if (source == HOOK_STREAM)
		return true;
	return hook.no_list ? hook_has_pool(window) : hook_has_list(window);
}

static int hook_enter(void *loader, struct trace_window *window)
{
	int source = hook_source_of(window);

	(void)loader;
	if (source < 0)
		return -ENOTSUP;
	if (driver_stopped(&hook.driver) || !hook_prepare(source, window))
		return -EIO;
	hook.compares = !hook.no_list && (source == HOOK_LIST || source == HOOK_LOADED);
	if (hook.compares)
		hook_set_files(window);
	hook.counted = atomic_load(&hook.page->batch_count);
	atomic_store(&hook.page->throttled, window->kind == TRACE_REAL);
	if (window->kind == TRACE_PREP)
		return 0; /* hook_work() makes them */
	atomic_store(&hook.page->given, 0);
	atomic_store(&hook.page->loaded_from, hook.counted);
	atomic_store(&hook.page->step_ns, hook.step_ns);
	atomic_store(&hook.page->loaded, source == HOOK_LOADED ? hook.ahead : 0);
	if (!hook_done(hook.calls.start((uint32_t)source)))
		return -EIO;
	hook_begin_io();
	return source == HOOK_STREAM;
}

static void hook_work(void *loader, const struct trace_window *window,
		      uint64_t length_ns, bool measured)
{
	(void)loader;
	if (measured) { /* a new worker's first batch reads more */
		hook.counted = atomic_load(&hook.page->batch_count);
		hook_begin_io();
	}
	if (!driver_stopped(&hook.driver))
		hook_done(hook.calls.make(window->workers, length_ns));
}

static void hook_leave(void *loader, struct trace_window *window)
{
	struct trace_made *made = &window->made;

	(void)loader;
	hook_add_batches(window);
	if (!hook_tells_io(window))
		window->batch_records = 0;
	if (window->kind == TRACE_LOADED && atomic_load(&hook.page->loaded) == 0)
		made->batches = 0; /* workers gave up: it was not loaded to its end */
	hook_end_io(made);
	made->lost += hook.compares && !hook.list.whole;
	made->unlisted = hook.compares ? hook.list.unlisted : 0;
	made->throttled = window->end.counters[TRACE_throttle_reads] -
			  window->begin.counters[TRACE_throttle_reads];
	if (hook.compares)
		hook_look_at_files(window, &made->end_resident);
	if (window->kind == TRACE_REAL && window->steps > 0)
		hook.step_ns =
			(window->end.time_ns - window->begin.time_ns) / window->steps;
}

static uint32_t hook_still(void *loader)
{
	int result = hook.calls.still();

	(void)loader;
	return hook_done(result) ? (uint32_t)result : TRACE_NO_DEVICES;
}

/* ---- counters ---- */

static void hook_count(void *loader)
{
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

	(void)loader;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		driver_count(&hook.driver, same[i].to,
			     io_page_total(hook.page, same[i].from));
	if (!hook.watched)
		driver_count(&hook.driver, TRACE_prep_ns,
			     io_page_total(hook.page, IO_batch_ns) -
				     io_page_total(hook.page, IO_io_ns));
}

static const struct driver_ops hook_ops = {
	.drain = hook_drain,
	.enter = hook_enter,
	.resume = hook_resume,
	.work = hook_work,
	.count = hook_count,
	.leave = hook_leave,
	.still = hook_still,
};

/* ---- opening ---- */

static struct trace *hook_session(void)
{
	const char *path = getenv("DSA_SESSION");

	return path == NULL || *path == '\0' ? NULL : trace_map(path, true, NULL);
}

static void hook_refuse(const char *why, enum trace_unmeasured unmeasured)
{
	struct trace *trace = hook_session();

	if (trace == NULL)
		return;
	if (trace->unmeasured == 0 && (trace->driver == 0 || hook.process != NULL)) {
		io_copy_text(trace->unmeasured_why, sizeof(trace->unmeasured_why), why);
		atomic_store_explicit(&trace->unmeasured, unmeasured,
				      memory_order_release);
	}
	trace_unmap(trace);
}

static bool hook_drive(const struct hook_about *from)
{
	struct trace_loader about;
	struct driver_parts parts = {
		.trace = hook.trace,
		.process = hook.process,
		.ops = &hook_ops,
		.loader = &hook,
		.about = &about,
		.resumed = true,
		.round = from->workers,
	};

	hook_describe(from, hook.page, &about);
	hook.no_list = about.no_list[0] != '\0';
	hook.ahead = from->workers * from->prefetch;
	hook.watched = about.kind == TRACE_WATCH;
	hook_begin_io();
	return driver_open(&hook.driver, &parts);
}

/* From now on: a loader that drives after another keeps on. */
static void hook_keep(struct io_page *page)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&page->keeping, &none, clock_real());
}

static bool hook_may_have_libdsa(const struct hook_about *about)
{
	void *library = dlopen("libdsa.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (library != NULL)
		dlclose(library);
	return library != NULL || about->libdsa;
}

int dsa_hook_open(const struct hook_about *about, const struct hook_calls *calls)
{
	if (hook.trace != NULL)
		return -EBUSY;
	hook.page = dsa_io_page();
	hook.trace = hook.page == NULL ? NULL : hook_session();
	if (hook.trace == NULL)
		return -ENOENT;
	hook.calls = *calls;
	hook.pair = UINT32_MAX;
	hook.step_ns = 0;
	hook.compares = false;
	hook.counted = atomic_load(&hook.page->batch_count);
	hook.process = NULL;
	if (hook.page->several)
		hook_refuse("several programs at once are measured with libdsa's "
			    "loader alone, and this is the program's own",
			    hook_may_have_libdsa(about) ? TRACE_SO_FAR : TRACE_NEVER);
	else if (hook.trace->driver == 0)
		hook.process = trace_claim(hook.trace, false);
	if (hook.process != NULL && hook_drive(about)) {
		hook_keep(hook.page);
		atomic_fetch_add(&hook.trace->loaders, 1);
		return 0;
	}
	if (hook.process != NULL)
		trace_give_back(hook.process);
	trace_unmap(hook.trace);
	hook.trace = NULL;
	return -EBUSY;
}

void dsa_hook_close(void)
{
	if (hook.trace == NULL)
		return;
	driver_close(&hook.driver);
	atomic_store(&hook.page->loaded, 0);
	if (!hook.trace->observe)
		atomic_store(&hook.page->throttled, 0);
	trace_give_back(hook.process);
	trace_unmap(hook.trace);
	hook.trace = NULL;
}

/* ---- steps ---- */

static enum hook_wish hook_observes(const struct trace *trace)
{
	if (trace == NULL || !trace->observe)
		return HOOK_WINDOWS;
	return trace->until_samples > 0 ? HOOK_COUNT : HOOK_WATCH;
}

/* Loader and workers rest at both ends, so that the totals are of these samples alone; not
 * so one that is watched, whose threads read ahead. */
static void hook_count_work(void)
{
	static const struct {
		enum trace_counter to;
		enum io_counter from;
	} counts[] = {{TRACE_counted_opens, IO_opens},
		      {TRACE_counted_reads, IO_reads},
		      {TRACE_counted_read_bytes, IO_bytes}};
	enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };
	uint64_t before[COUNTS], wanted = trace_end(hook.trace);

	hook_drain(&hook);
	for (int i = 0; i < COUNTS; i++)
		before[i] = io_page_total(hook.page, counts[i].from);
	if (!driver_stopped(&hook.driver))
		hook_done(hook.calls.count(wanted < INT32_MAX ? (uint32_t)wanted
							      : INT32_MAX));
	for (int i = 0; i < COUNTS && !hook.watched; i++)
		trace_add(hook.process, counts[i].to,
			  io_page_total(hook.page, counts[i].from) - before[i]);
	driver_end(&hook.driver);
}

void dsa_hook_counted(uint32_t samples)
{
	trace_add(hook.process, TRACE_delivered_batches, 1);
	trace_add(hook.process, TRACE_delivered_samples, samples);
}

int dsa_hook_request(uint64_t now)
{
	if (hook.trace == NULL)
		return 0;
	if (!driver_request(&hook.driver, now, 0)) {
		atomic_store(&hook.page->loaded, 0);
		return 0;
	}
	if (hook_observes(hook.trace) == HOOK_COUNT)
		hook_count_work();
	return !driver_stopped(&hook.driver);
}

void dsa_hook_delivered(uint32_t samples, uint64_t blocked_ns)
{
	struct trace_window *window = hook.driver.window;

	if (hook.trace == NULL)
		return;
	trace_add(hook.process, TRACE_delivered_batches, 1);
	trace_add(hook.process, TRACE_delivered_samples, samples);
	trace_add(hook.process, TRACE_blocked_ns, blocked_ns);
	driver_delivered(&hook.driver, samples, 0, blocked_ns);
	atomic_fetch_add(&hook.page->given, 1);
	/* The ring is read before it overwrites what a long window has not counted. */
	if (window != NULL &&
	    atomic_load(&hook.page->batch_count) - hook.counted > IO_BATCHES / 2)
		hook_add_batches(window);
}

void dsa_hook_renewed(uint64_t ns)
{
	if (hook.trace != NULL && hook.driver.window != NULL)
		hook.driver.window->made.renewed_ns += ns;
}

void dsa_hook_outside(uint64_t now)
{
	if (hook.trace != NULL)
		driver_skip_step(&hook.driver, now);
}

void dsa_hook_round(uint32_t batches)
{
	if (hook.trace != NULL)
		driver_set_round(&hook.driver, batches);
}

void dsa_hook_cut(void)
{
	if (hook.trace == NULL)
		return;
	atomic_store(&hook.page->loaded, 0);
	driver_cut(&hook.driver);
}

/* ---- what is told without a driver, too ---- */

void dsa_hook_epoch(uint64_t ns)
{
	if (hook.trace == NULL)
		return;
	atomic_fetch_add(&hook.trace->epoch_starts, 1);
	atomic_fetch_add(&hook.trace->epoch_start_ns, ns);
}

int dsa_hook_left(void)
{
	return hook.trace == NULL || hook.driver.detached || hook.driver.ended;
}

int dsa_hook_observes(void)
{
	struct trace *trace = hook_session();
	enum hook_wish observes = hook_observes(trace);

	trace_unmap(trace);
	return observes;
}

void dsa_hook_refuse(const char *why)
{
	hook_refuse(why, TRACE_SO_FAR);
}
