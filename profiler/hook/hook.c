/* hook.c - what the hook calls: opens the driver of its loader, and tells it of steps. */
#include "profiler/hook/hook.h"
#include "loader/base/clock.h"
#include "profiler/hook/hook_ranks.h"
#include "profiler/io/dsa_io.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOON = 64 }; /* batches */

static struct hook hook; /* of one loader of this process */

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
		trace->unmeasured_pid = (uint32_t)getpid();
		atomic_store_explicit(&trace->unmeasured, unmeasured,
				      memory_order_release);
		if (hook.process != NULL && !trace->observe)
			atomic_store(&hook.page->throttled, 0); /* as without dsa */
	}
	trace_unmap(trace);
}

static bool hook_drive(const struct hook_about *from)
{
	struct trace_loader about;
	struct driver_parts parts = {
		.trace = hook.trace,
		.process = hook.process,
		.ops = &hook_windows,
		.loader = &hook,
		.about = &about,
		.resumed = true,
		.round = from->workers,
	};

	hook_describe(from, hook.page, &about);
	hook.no_list = about.no_list[0] != '\0';
	hook.ahead = from->workers * from->prefetch;
	hook.watched = about.kind == TRACE_WATCH;
	hook_begin_io(&hook);
	return driver_open(&hook.driver, &parts);
}

/* Of the batches that are recorded; UINT32_MAX: there are none. */
static uint32_t hook_last_epoch(const struct trace *trace)
{
	uint32_t count = trace->batch_count;

	return count > 0 && count <= TRACE_BATCHES ? trace->batches[count - 1].epoch
						   : UINT32_MAX;
}

static bool hook_may_have_libdsa(const struct hook_about *about)
{
	void *library = dlopen("libdsa.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (library != NULL)
		dlclose(library);
	return library != NULL || about->libdsa;
}

/* By a loader of that kind, which closed before anything was measured. */
static bool hook_was_left(const struct trace *trace, uint32_t kind)
{
	return !trace->observe && atomic_load(&trace->driver_done) != 0 &&
	       trace->loader.kind == kind && driver_succeeds(trace, false);
}

int dsa_hook_open(const struct hook_about *about, const struct hook_calls *calls)
{
	bool succeeds;

	if (hook_follows())
		return hook_follow(about, calls);
	if (hook.trace != NULL)
		return -EBUSY;
	hook.page = dsa_io_page();
	hook.trace = hook.page == NULL ? NULL : hook_session();
	if (hook.trace == NULL)
		return -ENOENT;
	if (!about->untrained)
		hook_forget_untrained(hook.trace, hook.page);
	succeeds = hook_was_left(hook.trace, about->kind);
	if (succeeds)
		hook_forget_left(hook.trace, hook.page);
	hook.calls = *calls;
	hook.pair = UINT32_MAX;
	hook.step_ns = hook.batch_ns = 0;
	hook.compares = false;
	hook.odd = hook.partly_odd = hook.alike = 0;
	hook.counted = atomic_load(&hook.page->batch_count);
	hook.epoch = hook_last_epoch(hook.trace) + 1;
	hook.stride = 1;
	hook.next_ns = UINT64_MAX;
	hook.loader = hook.before = 0;
	memset(hook.beside, 0, sizeof(hook.beside));
	hook.ranks = NULL;
	hook.pid = getpid();
	hook.agreed = false;
	hook.process = NULL;
	if (hook.page->several)
		hook_refuse("several programs at once are measured with libdsa's "
			    "loader alone, and this is the program's own",
			    hook_may_have_libdsa(about) ? TRACE_SO_FAR : TRACE_NEVER);
	else if (hook.trace->driver == 0 || succeeds)
		hook.process = trace_claim(hook.trace, "", succeeds);
	if (hook.process != NULL && hook_drive(about)) {
		hook.ranks = hook_ranks_led(hook.page);
		atomic_fetch_add(&hook.trace->loaders, !succeeds);
		return 0;
	}
	if (hook.process != NULL)
		trace_give_back(hook.process);
	hook.process = NULL;
	trace_unmap(hook.trace);
	hook.trace = NULL;
	return -EBUSY;
}

void dsa_hook_close(void)
{
	hook_ranks_close();
	if (hook.trace == NULL || hook.pid != getpid()) /* a child that was forked */
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
		hook_done(&hook, hook.calls.count(wanted < INT32_MAX ? (uint32_t)wanted
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

/* Of several ranks work is counted, and all of them end, where they agreed to. */
static bool hook_asked(uint64_t now)
{
	if (!driver_request(&hook.driver, now, 0))
		return false;
	if (hook_observes(hook.trace) == HOOK_COUNT && hook_agree(&hook, 1))
		hook_count_work();
	if (hook.ranks != NULL && !hook.agreed)
		return !hook.driver.ended;
	return !driver_stopped(&hook.driver);
}

int dsa_hook_request(uint64_t now)
{
	bool goes_on;

	if (hook_follow_is_alone())
		hook_refuse(
			"ranks of a job are measured with the first one, and that does "
			"not run under this dsa",
			TRACE_SO_FAR);
	if (hook_follows())
		return hook_follow_request();
	if (hook.trace == NULL)
		return 0;
	if (hook.ranks != NULL) {
		if (ranks_over(hook.ranks) != NULL)
			driver_end(&hook.driver);
		ranks_come(hook.ranks, hook_ranks_batch());
	}
	goes_on = hook_asked(now);
	hook_switched(&hook, goes_on);
	if (!goes_on)
		atomic_store(&hook.page->loaded, 0);
	return goes_on;
}

void dsa_hook_delivered(uint32_t samples, uint64_t blocked_ns)
{
	struct trace_window *window = hook.driver.window;

	if (hook.ranks != NULL)
		atomic_store(&hook.ranks->counts, window != NULL &&
							  hook.driver.measuring &&
							  window->kind == TRACE_REAL);
	hook_ranks_delivered(blocked_ns);
	if (hook.trace == NULL)
		return;
	if (hook_observes(hook.trace) == HOOK_COUNT)
		return; /* until all ranks can be at rest */
	trace_add(hook.process, TRACE_delivered_batches, 1);
	trace_add(hook.process, TRACE_delivered_samples, samples);
	trace_add(hook.process, TRACE_blocked_ns, blocked_ns);
	if (hook.trace->observe)
		hook.delivered_ns = clock_now();
	driver_delivered(&hook.driver, samples, hook.epoch, blocked_ns);
	atomic_fetch_add(&hook.page->given, 1);
	/* The ring is read before it overwrites what a long window has not counted; and soon,
	 * as the program may be killed. Of one that is watched only its end tells whether the
	 * records do. */
	if (window != NULL && atomic_load(&hook.page->batch_count) - hook.counted >
				      (hook.watched ? IO_BATCHES / 2 : SOON))
		hook_add_batches(&hook, window);
}

void dsa_hook_trained(uint32_t backwards, uint64_t took_ns)
{
	if (hook.trace == NULL)
		return;
	trace_add(hook.process, TRACE_backwards, backwards);
	trace_add(hook.process, TRACE_backward_ns, took_ns);
}

/* Windows so far were of steps without them. Observed is what there was. */
static void hook_void_windows(struct trace *trace)
{
	uint32_t begun = atomic_load(&trace->window_now);

	for (uint32_t i = 0; !trace->observe && i < begun && i < TRACE_WINDOWS; i++)
		trace->windows[i].flags |= TRACE_WARMUP;
}

void dsa_hook_beside(uint32_t loaders)
{
	if (hook.trace == NULL)
		return;
	hook_void_windows(hook.trace);
	__atomic_store_n(&hook.trace->loader.beside, loaders, __ATOMIC_RELEASE);
	hook_drop_list(&hook, "several loaders in each step");
	hook.pair = UINT32_MAX;
}

void dsa_hook_loader_beside(uint32_t which, uint64_t loader)
{
	if (hook.trace == NULL)
		return;
	/* What it made before is of no step. */
	if (hook.begun && hook.driver.window != NULL && !hook.trace->observe)
		hook_add_batches(&hook, hook.driver.window);
	hook.beside[which % HOOK_BESIDE] = loader;
}

void dsa_hook_waited(uint64_t blocked_ns)
{
	if (hook.trace == NULL)
		return;
	trace_add(hook.process, TRACE_blocked_ns, blocked_ns);
	driver_waited(&hook.driver, blocked_ns);
}

void dsa_hook_renewed(uint64_t ns)
{
	if (hook.trace != NULL && hook.driver.window != NULL)
		hook.driver.window->made.renewed_ns += ns;
}

void dsa_hook_outside(void)
{
	if (hook.trace != NULL)
		driver_skip_step(&hook.driver);
}

void dsa_hook_round(uint32_t batches)
{
	if (hook.trace != NULL)
		driver_set_round(&hook.driver, batches);
}

void dsa_hook_loader(uint64_t loader)
{
	if (hook.trace == NULL)
		return;
	hook.before = hook.loader;
	hook.loader = loader;
}

void dsa_hook_cut(uint32_t other)
{
	hook_ranks_rest();
	if (hook.trace == NULL)
		return;
	if (other)
		hook.pair = UINT32_MAX;
	atomic_store(&hook.page->loaded, 0);
	hook_begin_epoch(&hook);
	driver_cut(&hook.driver);
}

/* ---- what is told without a driver, too ---- */

void dsa_hook_epoch(uint64_t ns, uint64_t step_ns)
{
	if (hook.trace == NULL)
		return;
	if (atomic_fetch_add(&hook.trace->epoch_starts, 1) == 0)
		atomic_store(&hook.page->epoch_first_ns, ns);
	atomic_fetch_add(&hook.trace->epoch_start_ns, ns);
	driver_skip_epoch(&hook.driver, ns + step_ns);
}

void dsa_hook_passing(uint64_t pickle_ns, uint64_t unpickle_ns)
{
	if (hook.trace == NULL)
		return;
	atomic_store(&hook.trace->pickle_ns, pickle_ns);
	atomic_store(&hook.trace->unpickle_ns, unpickle_ns);
}

int dsa_hook_left(void)
{
	if (hook_ranks_apart())
		return 1;
	if (hook_follows())
		return hook_follow_stopped();
	return hook.trace == NULL || hook.driver.ended ||
	       (hook.driver.detached && hook.ranks == NULL);
}

int dsa_hook_stopped(void)
{
	if (hook_follows())
		return hook_follow_stopped();
	if (hook.ranks != NULL) /* what all ranks see before the same batch */
		return hook.driver.ended || ranks_over(hook.ranks) != NULL;
	return dsa_hook_left() || driver_stopped(&hook.driver);
}

int dsa_hook_measured(void)
{
	return hook.trace == NULL || !driver_succeeds(hook.trace, false);
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
	if (!hook_ranks_refuse(why))
		hook_refuse(why, TRACE_SO_FAR);
}

void dsa_hook_beyond(uint32_t how)
{
	if (hook.trace != NULL)
		atomic_store(&hook.trace->beyond, how);
}
