#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/host/counters.h"
#include "profiler/profile.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256 }; /* 1 MiB */

static int open_forbidden(const struct perf_event_attr *attr, pid_t tid, int group)
{
	(void)attr, (void)tid, (void)group;
	return -EACCES;
}

/* The kernel's own events, without hardware: what a virtual machine has. */
static int open_kernel(const struct perf_event_attr *attr, pid_t tid, int group)
{
	struct perf_event_attr copy;
	long fd;

	if (attr->type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	copy = *attr; /* the kernel may write into it */
	fd = syscall(SYS_perf_event_open, &copy, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* As open_kernel, but on the thread itself alone: no descriptors left for others. */
static int open_only_self(const struct perf_event_attr *attr, pid_t tid, int group)
{
	return tid != 0 ? -EMFILE : open_kernel(attr, tid, group);
}

static bool may_open_kernel(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.size = sizeof(attr),
	};
	int fd = open_kernel(&attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A thread of a session that touches fresh memory when told. */
struct toucher {
	struct trace_process *process;
	enum trace_stage stage;
	pthread_t thread;
	pid_t tid;
	sem_t go, done;
	char *memory; /* NULL: end */
};

__attribute__((no_sanitize("address", "thread"))) static void
touch(volatile char *memory)
{
	for (size_t i = 0; i < PAGES; i++)
		memory[i * PAGE] = 1;
}

static void *toucher_run(void *arg)
{
	struct toucher *toucher = arg;

	toucher->tid = gettid();
	trace_thread(toucher->process, toucher->stage);
	for (;;) {
		sem_post(&toucher->done);
		while (sem_wait(&toucher->go) < 0)
			;
		if (toucher->memory == NULL)
			return NULL;
		usleep(2000); /* a voluntary switch: a shorter timer may fire before it */
		touch(toucher->memory);
	}
}

static void toucher_touch(struct toucher *toucher)
{
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	toucher->memory = memory;
	sem_post(&toucher->go);
	while (sem_wait(&toucher->done) < 0)
		;
	munmap(memory, PAGES * PAGE);
}

static void toucher_start(struct toucher *toucher, struct trace_process *process,
			  enum trace_stage stage)
{
	toucher->process = process;
	toucher->stage = stage;
	sem_init(&toucher->go, 0, 0);
	sem_init(&toucher->done, 0, 0);
	assert_int_equal(pthread_create(&toucher->thread, NULL, toucher_run, toucher),
			 0);
	while (sem_wait(&toucher->done) < 0)
		;
	toucher_touch(toucher); /* what faults only once does so now */
}

static void toucher_end(struct toucher *toucher)
{
	toucher->memory = NULL;
	sem_post(&toucher->go);
	pthread_join(toucher->thread, NULL);
	/* The kernel removes the thread a moment after its exit woke the join. */
	while (tgkill(getpid(), toucher->tid, 0) == 0)
		sched_yield();
}

static struct trace *new_session(void)
{
	struct trace *trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(trace != MAP_FAILED);
	trace_claim(trace, "", false);
	trace->driver = 1;
	return trace;
}

static const struct profile_counter *find(const struct profile *profile,
					  const char *stage, const char *name)
{
	for (size_t i = 0; i < profile->counter_count; i++)
		if (strcmp(profile->counters[i].stage, stage) == 0 &&
		    strcmp(profile->counters[i].name, name) == 0)
			return &profile->counters[i];
	return NULL;
}

/* One thread of stage prep that touches 1 MiB while `samples` are prepared. */
static void touch_counted(struct counters *counters, struct trace *trace,
			  struct toucher *toucher, uint64_t samples)
{
	counters_poll_now(counters, trace);
	toucher_touch(toucher);
	trace_add(&trace->processes[0], TRACE_prepared_samples, samples);
	counters_poll_now(counters, trace);
}

/* Whether the faults are those that were caused, to the number. */
static bool faults_fit(const char *rung,
		       int (*open)(const struct perf_event_attr *, pid_t, int))
{
	struct counters_config config = {.open = open};
	struct counters *counters = counters_open(&config, NULL);
	const struct profile_counter *faults, *switches, *clock;
	struct trace *trace = new_session();
	struct toucher toucher;
	struct profile profile;
	bool fit;

	toucher_start(&toucher, &trace->processes[0], TRACE_STAGE_PREP);
	touch_counted(counters, trace, &toucher, 2 * PAGES);
	toucher_end(&toucher);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	faults = find(&profile, "prep", "minor_faults");
	switches = find(&profile, "prep", "voluntary_switches");
	clock = find(&profile, "prep", "task_clock_s");
	assert_non_null(faults);
	assert_string_equal(faults->rung, rung);
	fit = faults->per_sample == 0.5 && faults->running == 1;
	assert_non_null(switches);
	assert_string_equal(switches->rung, "proc");
	assert_true(switches->per_sample >= 1.0 / (2 * PAGES));
	assert_non_null(clock);
	assert_string_equal(clock->rung, rung);
	assert_true(clock->per_sample > 0);
	assert_null(find(&profile, "prep", "cycles")); /* not there: absent, not 0 */
	assert_null(find(&profile, "fetch", "minor_faults"));
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
	return fit;
}

/* The kernel may have taken another of the thread's pages, but hardly each time. */
static void faults_are_exact(const char *rung,
			     int (*open)(const struct perf_event_attr *, pid_t, int))
{
	bool fit = false;

	for (int i = 0; i < 3 && !fit; i++)
		fit = faults_fit(rung, open);
	assert_true(fit);
}

TEST(faults_are_exact_by_the_kernels_events)
{
	if (!may_open_kernel())
		skip();
	faults_are_exact("software", open_kernel);
}

TEST(faults_are_exact_by_proc)
{
	faults_are_exact("proc", open_forbidden);
}

TEST(a_thread_without_descriptors_is_counted_by_proc)
{
	if (!may_open_kernel())
		skip();
	faults_are_exact("proc", open_only_self);
}

TEST(paired_windows_are_left_out)
{
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct toucher toucher;
	struct profile profile;

	toucher_start(&toucher, &trace->processes[0], TRACE_STAGE_PREP);
	touch_counted(counters, trace, &toucher, PAGES);
	trace->windows[0].flags = TRACE_PAIRED;
	trace->window_now = 1;
	touch_counted(counters, trace, &toucher, 1000 * PAGES);
	trace->window_now = 2;
	touch_counted(counters, trace, &toucher, PAGES);
	toucher_end(&toucher);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	assert_true(find(&profile, "prep", "minor_faults")->per_sample == 1);
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

/* Faults of the process a delivered sample, while the loader in slot `second` drives after
 * the one in slot 0; both are of this process. */
static double faults_of_the_driver(uint32_t second)
{
	struct counters_config config = {.open = open_forbidden};
	struct counters *counters = counters_open(&config, NULL);
	const struct profile_counter *faults;
	struct trace *trace = new_session();
	struct toucher toucher;
	struct profile profile;
	double each;

	trace_claim(trace, "", false);
	toucher_start(&toucher, &trace->processes[0], TRACE_STAGE_PREP);
	for (uint32_t round = 0; round < 2; round++) {
		uint32_t slot = round == 0 ? 0 : second;

		trace->driver = slot + 1;
		counters_poll_now(counters, trace); /* finds it */
		counters_poll_now(counters, trace);
		toucher_touch(&toucher);
		trace_add(&trace->processes[slot], TRACE_delivered_samples, PAGES);
		counters_poll_now(counters, trace);
	}
	toucher_end(&toucher);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	faults = find(&profile, "process", "minor_faults");
	assert_non_null(faults);
	each = faults->per_sample;
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
	return each;
}

/* Counted twice, it would have half as many again; a sanitizer adds some of its own. */
TEST(the_drivers_process_is_counted_once)
{
	double same = faults_of_the_driver(0), other = faults_of_the_driver(1);

	assert_true(same >= 1 && other >= 1);
	assert_true(other < 1.25 * same);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

TEST(what_a_thread_did_before_it_was_found_is_left_out)
{
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct toucher first, second;
	struct profile profile;

	toucher_start(&first, &trace->processes[0], TRACE_STAGE_PREP);
	touch_counted(counters, trace, &first, PAGES);
	toucher_start(&second, &trace->processes[0], TRACE_STAGE_PREP);
	trace_add(&trace->processes[0], TRACE_prepared_samples, 1000 * PAGES);
	touch_counted(counters, trace, &second, PAGES);
	toucher_end(&first);
	toucher_end(&second);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	assert_true(find(&profile, "prep", "minor_faults")->per_sample == 1);
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

TEST(a_dead_thread_keeps_what_it_counted)
{
	unsigned before = open_descriptors();
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct toucher toucher;
	struct profile profile;

	toucher_start(&toucher, &trace->processes[0], TRACE_STAGE_PREP);
	touch_counted(counters, trace, &toucher, PAGES);
	toucher_end(&toucher);
	counters_poll_now(counters, trace);
	counters_poll_now(counters, trace);
	assert_int_equal(open_descriptors(), before);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	assert_true(find(&profile, "prep", "minor_faults")->per_sample >= 1);
	assert_non_null(find(&profile, "prep", "voluntary_switches"));
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

TEST(new_threads_are_found_and_nothing_stays_open)
{
	enum { THREADS = 20 };
	unsigned before = open_descriptors();
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct toucher touchers[THREADS];
	struct profile profile;

	for (int i = 0; i < THREADS; i++)
		toucher_start(&touchers[i], &trace->processes[0], TRACE_STAGE_FETCH);
	for (int i = 0; i < 4; i++) /* a few a poll */
		counters_poll_now(counters, trace);
	for (int i = 0; i < THREADS; i++)
		toucher_touch(&touchers[i]);
	trace_add(&trace->processes[0], TRACE_fetched_samples, PAGES);
	trace_add(&trace->processes[0], TRACE_staged_samples, (THREADS - 1) * PAGES);
	counters_poll_now(counters, trace);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	assert_true(find(&profile, "fetch", "minor_faults")->per_sample == 1);
	profile_free(&profile);
	for (int i = 0; i < THREADS; i++)
		toucher_end(&touchers[i]);
	counters_close(counters);
	assert_int_equal(open_descriptors(), before);
	munmap(trace, sizeof(*trace));
}

TEST(the_process_is_a_stage_by_proc)
{
	struct counters *counters = counters_open(NULL, NULL);
	const struct profile_counter *faults;
	struct trace *trace = new_session();
	struct toucher stranger; /* a thread that the session does not know */
	struct trace_process elsewhere = {0};
	struct profile profile;

	toucher_start(&stranger, &elsewhere, TRACE_STAGE_PREP);
	counters_poll_now(counters, trace);
	toucher_touch(&stranger);
	trace_add(&trace->processes[0], TRACE_delivered_samples, PAGES);
	counters_poll_now(counters, trace);
	toucher_end(&stranger);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	faults = find(&profile, "process", "minor_faults");
	assert_non_null(faults);
	assert_string_equal(faults->rung, "proc");
	assert_true(faults->per_sample >= 1);
	assert_null(find(&profile, "process", "context_switches"));
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

TEST(a_poll_waits_until_it_is_due)
{
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct profile early, due;

	counters_poll(counters, trace, 1);
	trace_add(&trace->processes[0], TRACE_delivered_samples, 1);
	counters_poll(counters, trace, COUNTERS_SPELL_NS);
	profile_init(&early);
	assert_int_equal(counters_result(counters, &early), 0);
	assert_int_equal(early.counter_count, 0);
	counters_poll(counters, trace, COUNTERS_SPELL_NS + 1);
	profile_init(&due);
	assert_int_equal(counters_result(counters, &due), 0);
	assert_true(due.counter_count > 0);
	profile_free(&early);
	profile_free(&due);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

/* Nothing slows the program between two spells. */
TEST(a_spell_ends_with_every_event_closed)
{
	unsigned before = open_descriptors(), most = 0;
	uint64_t now = 1;
	struct counters *counters = counters_open(NULL, NULL);
	struct trace *trace = new_session();
	struct toucher toucher;
	struct profile profile;

	if (!may_open_kernel())
		skip();
	toucher_start(&toucher, &trace->processes[0], TRACE_STAGE_PREP);
	counters_poll(counters, trace, now);
	most = open_descriptors();
	toucher_touch(&toucher);
	trace_add(&trace->processes[0], TRACE_prepared_samples, PAGES);
	while (open_descriptors() > before) {
		now += COUNTERS_SPELL_NS / 6;
		counters_poll(counters, trace, now);
	}
	assert_true(most > before);
	toucher_end(&toucher);
	profile_init(&profile);
	assert_int_equal(counters_result(counters, &profile), 0);
	assert_true(find(&profile, "prep", "minor_faults")->per_sample >= 1);
	profile_free(&profile);
	counters_close(counters);
	munmap(trace, sizeof(*trace));
}

TEST(counters_open_says_so_when_memory_runs_out)
{
	for (unsigned i = 1; i <= 2; i++) {
		struct error err = {0};

		nomem_at(i);
		assert_null(counters_open(NULL, &err));
		nomem_at(0);
		assert_int_equal(err.code, ENOMEM);
	}
}

/* libpfm4 need not know this CPU to be tried: let it take it for another. */
static int name_a_cpu(void **state)
{
	(void)state;
	return setenv("LIBPFM_FORCE_PMU", "amd64_fam17h_zen1", 1);
}

TEST_GROUP(name_a_cpu, NULL);
