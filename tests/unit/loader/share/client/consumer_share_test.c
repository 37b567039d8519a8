/* Programs with DSA_SHARE and a real shared loader: with others, dropped, outlived. */
#include "tests/lib/actor.h"
#include "tests/lib/picture.h"
#include "tests/lib/program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct serving serving;

/* Another program, in a thread. */
struct other {
	struct dsa_config config;
	pthread_t thread;
	char failed[DSA_WHY]; /* "": it got every sample once in each of its epochs */
};

/* A process that serves until it is killed. */
struct child {
	pid_t pid;
	int go, ready;
};

static int setup(void **state)
{
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	serving_init(&serving);
	serving.loader.dataset = actor_dataset;
	serving.loader.prep = "image";
	serving.loader.size = ACTOR_SIDE;
	return scratch_setup(state);
}

static int teardown(void **state)
{
	unsetenv("DSA_SHARE");
	unsetenv("DSA_LOADER");
	return scratch_teardown(state);
}

/* ---- others ---- */

static bool note_other(const struct dsa_batch *batch, uint64_t (*seen)[ACTOR_COUNT])
{
	bool good = true;

	for (uint32_t i = 0; i < batch->count; i++)
		good = good && ++(*seen)[batch->samples[i]] == batch->epoch + 1;
	return good;
}

static void *run_other(void *context)
{
	struct other *other = context;
	uint64_t seen[ACTOR_COUNT] = {0}, samples = 0;
	struct dsa_loader *loader;
	struct dsa_batch batch;
	int result;

	other->failed[0] = '\0';
	if (dsa_open(&other->config, &loader, other->failed) < 0)
		return NULL;
	while ((result = dsa_next(loader, &batch)) == 1) {
		if (!note_other(&batch, &seen))
			strcpy(other->failed, "a sample came twice, or too late");
		samples += batch.count;
		dsa_release(loader, &batch);
	}
	if (result < 0)
		snprintf(other->failed, sizeof(other->failed), "%s", dsa_why(loader));
	else if (samples != (uint64_t)other->config.epochs * ACTOR_COUNT)
		strcpy(other->failed, "it ended early");
	dsa_close(loader);
	return NULL;
}

static void start_other(struct other *other, unsigned batch, unsigned epochs)
{
	other->config = program_config();
	other->config.batch = batch;
	other->config.epochs = epochs;
	assert_int_equal(pthread_create(&other->thread, NULL, run_other, other), 0);
}

static void join_other(struct other *other)
{
	pthread_join(other->thread, NULL);
	if (other->failed[0] != '\0')
		fail_msg("another program: %s", other->failed);
}

/* ---- a loader that is killed ---- */

static void serve(const struct child *child)
{
	char byte;

	if (read(child->go, &byte, 1) == 1 && serving_start(&serving) &&
	    write(child->ready, "", 1) == 1)
		pause();
	_exit(1);
}

/* Forks while there are no threads yet; it serves when it is told to. */
static struct child make_child(void)
{
	int go[2], ready[2];
	struct child child;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	child = (struct child){.go = go[0], .ready = ready[1]};
	serving.config.audit = NULL;
	child.pid = fork();
	if (child.pid == 0)
		serve(&child);
	close(go[0]);
	close(ready[1]);
	child.go = go[1];
	child.ready = ready[0];
	return child;
}

static void start_child(const struct child *child)
{
	char byte;

	assert_int_equal(write(child->go, "", 1), 1);
	assert_int_equal(read(child->ready, &byte, 1), 1);
}

static void kill_child(const struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSIGNALED(status));
	close(child->go);
	close(child->ready);
}

/* ---- tests ---- */

static struct dsa_loader *opened(const char *settings)
{
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;

	if (program_open(&config, "socket", settings, &loader) != 0)
		fail_msg("%s", program.why);
	return loader;
}

static void run(struct dsa_loader *loader)
{
	int result;

	do
		result = program_step(loader, false);
	while (result == 1);
	if (result < 0)
		fail_msg("%s", dsa_why(loader));
}

TEST_WITH(programs_of_all_sizes_share_one_loader, setup, teardown)
{
	struct other others[2];
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	serving.config.jobs = 3;
	assert_true(serving_start(&serving));
	program_settings("socket", "");
	start_other(&others[0], 7, 3);
	start_other(&others[1], 60, 5);
	config.batch = 13;
	config.epochs = 4;
	assert_int_equal(program_begin(&config, &loader), 0);
	run(loader);
	program_once(0, 4);
	assert_int_equal(program_stats(loader).shared, 1);
	assert_int_equal(program_stats(loader).workers, 2);
	assert_non_null(dsa_class(loader, 0));
	dsa_close(loader);
	join_other(&others[0]);
	join_other(&others[1]);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 12 epochs of 3 jobs"));
}

TEST_WITH(a_program_that_pauses_goes_on_alone, setup, teardown)
{
	const struct dsa_config config = program_config();
	struct other other;
	struct dsa_loader *loader;
	struct dsa_batch held;

	serving.config.jobs = 2;
	serving.config.drop_ns = 500000000;
	assert_true(serving_start(&serving));
	program_settings("socket", "");
	start_other(&other, 16, 10);
	assert_int_equal(program_begin(&config, &loader), 0);
	assert_int_equal(program_step(loader, false), 1);
	assert_int_equal(dsa_next(loader, &held), 1);
	serving_wait(&serving, "goes on alone");
	join_other(&other);
	program_note(&held, false); /* still what it was */
	assert_int_equal(dsa_release(loader, &held), 0);
	run(loader);
	program_once(0, 2);
	assert_int_equal(program_stats(loader).shared, 2);
	dsa_close(loader);
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(a_program_outlives_its_loader, setup, teardown)
{
	for (unsigned steps = 0; steps < 12; steps += 5) {
		struct child child = make_child();
		struct dsa_loader *loader;

		start_child(&child);
		loader = opened("alone=load,batch=11,epochs=6");
		for (unsigned i = 0; i < steps; i++)
			assert_int_equal(program_step(loader, false), 1);
		kill_child(&child);
		run(loader);
		program_once(0, 6);
		assert_int_equal(program_stats(loader).shared, 2);
		dsa_close(loader);
	}
}

TEST_WITH(endless_data_goes_on_when_its_loader_is_stopped, setup, teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	config.epochs = 0;
	assert_true(serving_start(&serving));
	assert_int_equal(program_open(&config, "socket", "alone=load", &loader), 0);
	assert_int_equal(program_step(loader, false), 1);
	assert_int_equal(serving_stop(&serving), 0);
	while (program.count < 4 * ACTOR_COUNT)
		assert_int_equal(program_step(loader, false), 1);
	program_once(0, 4);
	assert_int_equal(program_stats(loader).shared, 2);
	dsa_close(loader);
}

/* Every fifth file is no picture. */
static void make_pictures(const char *folder)
{
	const struct picture picture = {.width = 20, .height = 20};
	size_t size;
	unsigned char *jpeg = picture_jpeg(&picture, &size);

	mkdir(folder, 0777);
	for (unsigned i = 0; i < ACTOR_COUNT; i++) {
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%u", folder, i % 2);
		mkdir(path, 0777);
		snprintf(path, sizeof(path), "%s/%u/%02u.jpg", folder, i % 2, i);
		file = fopen(path, "w");
		fwrite(jpeg, 1, i % 5 == 0 ? 20 : size, file);
		fclose(file);
	}
	free(jpeg);
}

/* Samples of each epoch that came once; fails the test if one came twice. */
static void count_good(unsigned epochs)
{
	for (uint64_t epoch = 0, at = 0; epoch < epochs; epoch++) {
		bool seen[ACTOR_COUNT] = {false};
		unsigned good = 0;

		for (; at < program.count && program.epoch[at] == epoch; at++) {
			assert_false(seen[program.sample[at]]);
			seen[program.sample[at]] = true;
			good++;
		}
		assert_int_equal(good, ACTOR_COUNT * 4 / 5);
	}
	assert_int_equal(program.count, epochs * ACTOR_COUNT * 4 / 5);
}

/* Where a picture can't be used a later one of the stream takes its place in the batch:
 * what was taken out of turn does not come again. */
TEST_WITH(pictures_that_can_not_be_used_are_no_excuse, setup, teardown)
{
	struct dsa_config config = program_config();

	make_pictures("pictures");
	serving.loader.dataset = config.dataset = "pictures";
	config.batch = 11;
	config.epochs = 8;
	for (unsigned steps = 0; steps < 15; steps += 2) {
		struct child child = make_child();
		struct dsa_loader *loader;

		start_child(&child);
		program_settings("socket", "alone=load");
		assert_int_equal(program_begin(&config, &loader), 0);
		for (unsigned i = 0; i < steps; i++)
			assert_int_equal(program_step(loader, false), 1);
		kill_child(&child);
		run(loader);
		count_good(8);
		dsa_close(loader);
	}
}

/* An epoch ends with as many places without a sample as the window has, and the program holds
 * its last batch while it asks for the next. */
TEST_WITH(pictures_that_can_not_be_used_leave_room_for_the_next_epoch, setup, teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch held, next;

	make_pictures("pictures");
	serving.loader.dataset = config.dataset = "pictures";
	serving.loader.size = config.size = 32; /* the window ends with a page */
	serving.loader.batch = config.batch = ACTOR_COUNT / 5 / 3;
	serving.config.window = 3;
	config.epochs = 4;
	assert_true(serving_start(&serving));
	assert_int_equal(program_open(&config, "socket", "prefetch=2", &loader), 0);
	assert_int_equal(dsa_next(loader, &held), 1);
	program_note(&held, false);
	for (unsigned step = 1; step < 4 * ACTOR_COUNT * 4 / 5 / config.batch; step++) {
		if (dsa_next(loader, &next) != 1)
			fail_msg("step %u: %s", step, dsa_why(loader));
		program_note(&next, false);
		assert_int_equal(dsa_release(loader, &held), 0);
		held = next;
	}
	assert_int_equal(dsa_next(loader, &next), 0);
	count_good(4);
	dsa_close(loader);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once"));
}

TEST_WITH(data_without_a_whole_batch_fails, setup, teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch batch;

	make_pictures("pictures");
	serving.loader.dataset = config.dataset = "pictures";
	config.batch = ACTOR_COUNT;
	config.drop_last = 1;
	config.epochs = 0;
	assert_true(serving_start(&serving));
	assert_int_equal(program_open(&config, "socket", "", &loader), 0);
	assert_int_equal(dsa_next(loader, &batch), -EBADMSG);
	assert_non_null(strstr(dsa_why(loader), "no whole batch of an epoch"));
	dsa_close(loader);
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(a_loader_takes_over_in_the_midst_of_a_programs_batch, setup, teardown)
{
	for (unsigned steps = 0; steps < 12; steps += 5) {
		struct child child = make_child();
		struct dsa_loader *loader;

		start_child(&child);
		loader = opened("takeover=60s,batch=11,epochs=6");
		for (unsigned i = 0; i < steps; i++)
			assert_int_equal(program_step(loader, false), 1);
		kill_child(&child);
		serving.config.takeover = true;
		assert_true(serving_start(&serving));
		run(loader);
		program_once(0, 6);
		assert_int_equal(program_stats(loader).shared, 1);
		dsa_close(loader);
		assert_int_equal(serving_stop(&serving), 0);
		serving.config.takeover = false;
	}
}

/* The same, bit by bit, as a loader of its own makes. */
TEST_WITH(pictures_are_decoded_once_for_programs_of_all_kinds, setup, teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *shared, *own;
	struct dsa_batch one, other;

	serving.config.decoded = true;
	assert_true(serving_start(&serving));
	config.size = 20;
	config.type = DSA_FLOAT32;
	config.layout = DSA_NHWC;
	config.seed = serving.loader.seed;
	assert_int_equal(program_open(&config, "socket", "", &shared), 0);
	unsetenv("DSA_SHARE");
	assert_int_equal(dsa_open(&config, &own, NULL), 0);
	while (dsa_next(shared, &one) == 1) {
		assert_int_equal(dsa_next(own, &other), 1);
		assert_int_equal(one.count, other.count);
		assert_int_equal(one.sample_bytes, 3 * 20 * 20 * sizeof(float));
		assert_memory_equal(one.labels, other.labels, 4 * one.count);
		assert_memory_equal(one.samples, other.samples, 4 * one.count);
		assert_memory_equal(one.data, other.data, one.count * one.sample_bytes);
		dsa_release(shared, &one);
		dsa_release(own, &other);
	}
	assert_int_equal(dsa_next(own, &other), 0);
	dsa_close(own);
	dsa_close(shared);
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(a_program_of_decoded_pictures_outlives_its_loader, setup, teardown)
{
	struct child child;
	struct dsa_loader *loader;

	serving.config.decoded = true;
	child = make_child();
	start_child(&child);
	loader = opened("alone=load,batch=11,epochs=6");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(program_step(loader, false), 1);
	kill_child(&child);
	run(loader);
	program_once(0, 6);
	assert_int_equal(program_stats(loader).shared, 2);
	dsa_close(loader);
}
