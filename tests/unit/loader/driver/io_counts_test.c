/*
 * io_counts_test.c - what the program itself reads is told from what the loader reads,
 * whichever engine that has.
 */
#include "loader/base/trace.h"
#include "loader/loader.h"
#include "profiler/profile.h"
#include "profiler/session/window.h"
#include "profiler/session/work_counts.h"
#include "tests/lib/images.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 5000, STEPS = IMAGES_EPOCHS * IMAGES_STEPS, FLYING = 4 };

/* Threads that first compete for memory let glibc read how many CPUs there are. */
enum { LIBC = 4, LIBC_BYTES = LIBC * sizeof("0-127\n") };

static char session[TREE_PATH + 16], beside[TREE_PATH + 16];
static struct trace *trace;

static int setup(void **state)
{
	int result = images_setup(state);
	FILE *file;

	snprintf(session, sizeof(session), "%s/session", images_home);
	snprintf(beside, sizeof(beside), "%s/beside", images_home);
	file = fopen(beside, "w");
	for (int i = 0; i < SIZE; i++)
		putc('x', file);
	return fclose(file) == 0 ? result : -1;
}

/* A session in which the loader is observed, as dsa asks for it. */
static int observe(void **state)
{
	(void)state;
	trace = trace_create(session, 1, NULL);
	if (trace == NULL)
		return -1;
	trace->observe = 1;
	trace->windows[0] = (struct trace_window){
		.kind = TRACE_REAL, .block = UINT32_MAX, .length_ns = UINT64_MAX};
	trace->window_count = 1;
	return setenv("DSA_SESSION", session, 1);
}

static int forget(void **state)
{
	(void)state;
	trace_unmap(trace);
	return unsetenv("DSA_SESSION");
}

static struct dsa_loader *opened(const char *engine)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader;
	char why[DSA_WHY];

	config.fetch = engine;
	if (dsa_open(&config, &loader, why) < 0)
		fail_msg("%s", why);
	return loader;
}

/* Two calls, the second of which brings the rest. */
static void read_beside(void)
{
	char bytes[SIZE];
	int fd = open(beside, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, bytes, 1000), 1000);
	assert_int_equal(pread(fd, bytes, SIZE, 1000), SIZE - 1000);
	close(fd);
}

/* All its batches; each step reads so often. */
static void train(struct dsa_loader *loader, unsigned times)
{
	struct dsa_batch batch;

	while (dsa_next(loader, &batch) > 0) {
		for (unsigned i = 0; i < times; i++)
			read_beside();
		dsa_release(loader, &batch);
	}
}

static struct profile_counted counted(void)
{
	struct profile_counted counted;

	assert_int_equal(work_counts_read(trace, &counted), 0);
	return counted;
}

static void program_has_read(uint64_t times)
{
	struct profile_counted now = counted();

	assert_in_range(now.program_reads, 2 * times, 2 * times + LIBC);
	assert_in_range(now.program_bytes, times * SIZE, times * SIZE + LIBC_BYTES);
}

TEST_WITH(whatever_the_engine_only_the_program_s_reads_are_its_own, observe, forget)
{
	static const char *const engines[] = {"pread", "uring", "pread-direct",
					      "uring-direct"};

	for (unsigned i = 0; i < 8; i++) {
		struct dsa_loader *loader = opened(engines[i / 2]);

		train(loader, i % 2);
		dsa_close(loader);
		if (i % 2 == 0) {
			assert_int_equal(counted().program_reads, 0);
			assert_int_equal(counted().program_bytes, 0);
		}
		program_has_read(i % 2 * STEPS);
		forget(state);
		observe(state);
	}
}

/* A child that reads so often for each byte it is sent, until there are no more. */
static pid_t child(int commands, int answers, unsigned times)
{
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	while (read(commands, &byte, 1) == 1) {
		for (unsigned i = 0; i < times; i++)
			read_beside();
		if (write(answers, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* One that lives while it is looked at, or ended before. */
static void reads_of_a_child(bool ends)
{
	enum { TIMES = 50 };
	struct dsa_loader *loader = opened("uring");
	struct dsa_batch batch;
	int to[2], from[2];
	char byte = 1;
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = child(to[0], from[1], TIMES);
	assert_int_equal(dsa_next(loader, &batch), 1);
	assert_int_equal(write(to[1], &byte, 1), 1);
	assert_int_equal(read(from[0], &byte, 1), 1);
	if (ends) {
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	dsa_release(loader, &batch);
	train(loader, 0);
	dsa_close(loader);
	if (!ends) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	/* Each side of the pipes reads a byte, and a child of the group may wait for one.
	 */
	assert_in_range(counted().program_reads, 2 * TIMES + 2, 2 * TIMES + 3 + LIBC);
	assert_in_range(counted().program_bytes, TIMES * SIZE + 2,
			TIMES * SIZE + 2 + LIBC_BYTES);
	for (int i = 0; i < 2; i++) {
		close(to[i]);
		close(from[i]);
	}
}

TEST_WITH(what_descends_from_it_is_the_program, observe, forget)
{
	reads_of_a_child(false);
	forget(state);
	observe(state);
	reads_of_a_child(true);
}

TEST_WITH(what_is_read_between_two_loaders_is_of_no_step, observe, forget)
{
	for (int i = 0; i < 3; i++) {
		struct dsa_loader *loader = opened("uring");

		train(loader, 1);
		dsa_close(loader);
		read_beside();
	}
	program_has_read(3 * STEPS);
}

TEST_WITH(a_session_without_a_window_does_not_know, observe, forget)
{
	struct dsa_loader *loader;

	trace->window_count = 0;
	loader = opened("pread");
	train(loader, 0);
	dsa_close(loader);
	assert_true(counted().program_reads == UNKNOWN);
	assert_true(counted().program_bytes == UNKNOWN);
}

/* Windows in which the loader reads little, with the program's reads in all of them. */
TEST_WITH(windows_of_real_steps_know, observe, forget)
{
	struct trace_window *real = &trace->windows[0], *cached = &trace->windows[1];
	struct dsa_config config = images_config(images_good);
	struct window_calls calls;
	struct dsa_loader *loader;
	struct dsa_batch batch;

	trace->observe = 0;
	real->length_ns = 1;
	real->min_steps = 20;
	real->settle = 2;
	*cached = *real;
	cached->kind = TRACE_CACHED;
	cached->stage = 8 * IMAGES_BATCH;
	trace->window_count = 2;
	config.epochs = 0;
	config.drop_last = 1;
	assert_int_equal(dsa_open(&config, &loader, NULL), 0);
	while (cached->state < TRACE_DONE) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		read_beside();
		dsa_release(loader, &batch);
	}
	dsa_close(loader);
	assert_true(window_program_reads(real, &calls));
	/* The loader's reads in flight may be the program's, or the other way round. */
	assert_in_range(calls.reads, 2 * real->steps - FLYING,
			2 * real->steps + FLYING);
	assert_in_range(calls.bytes, real->steps * (uint64_t)SIZE * 9 / 10,
			real->steps * (uint64_t)SIZE * 2);
	assert_false(window_program_reads(cached, &calls));
	real->end.counters[TRACE_went_alone] = 1;
	assert_false(window_program_reads(real, &calls));
}

TEST_GROUP(setup, images_teardown);
