/* loader_close_test.c - what stays behind: of a loader, closed or never opened. */
#include "tests/lib/delivered.h"
#include "tests/lib/inherited.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static unsigned mappings_of_ours(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	unsigned count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, "memfd:") != NULL ||
			 strstr(line, "io_uring") != NULL;
	fclose(file);
	return count;
}

/* Threads that stay: those of the test before may stand in /proc a moment longer. */
static unsigned resting_threads(void)
{
	unsigned least = UINT_MAX;

	for (int i = 0; i < 50; i++) {
		unsigned now = entries("/proc/self/task");

		least = now < least ? now : least;
		usleep(1000);
	}
	return least;
}

/* The kernel takes a thread out of /proc a moment after it was joined. */
static bool settles(const char *path, unsigned want)
{
	for (int i = 0; i < 100000; i++) {
		if (entries(path) == want)
			return true;
		sched_yield();
	}
	return false;
}

TEST(close_leaves_nothing_behind)
{
	static const char *const engines[] = {"pread", "uring", "pread-direct",
					      "uring-direct", "auto"};
	unsigned threads, fds, maps;
	struct dsa_config config = images_config(images_good);

	/* A sanitizer begins a thread of its own with the first one of ours. */
	dsa_close(delivered_open(&config));
	threads = resting_threads();
	fds = entries("/proc/self/fd");
	maps = mappings_of_ours();
	for (unsigned i = 0; i < 5; i++) {
		struct dsa_loader *loader;
		struct delivered log = {0};

		config.fetch = engines[i];
		loader = delivered_open(&config);
		assert_true(entries("/proc/self/task") > threads);
		for (unsigned j = 0; j < i; j++) /* closed at once, or later */
			assert_true(delivered_step(&log, loader));
		dsa_close(loader);
		assert_true(settles("/proc/self/task", threads));
		assert_int_equal(entries("/proc/self/fd"), fds);
		assert_int_equal(mappings_of_ours(), maps);
	}
}

TEST(a_loader_that_does_not_open_leaves_nothing_behind)
{
	unsigned threads = resting_threads(), fds = entries("/proc/self/fd");
	struct dsa_config wrong[5];
	char empty[TREE_PATH];

	tree_make(empty);
	for (unsigned i = 0; i < 5; i++)
		wrong[i] = images_config(images_good);
	wrong[0].dataset = "/nonexistent/images";
	wrong[1].dataset = empty;
	wrong[2].cache = "magic";
	wrong[3].fetch = "pigeon";
	wrong[4].rank = 3;
	for (unsigned i = 0; i < 5; i++) {
		struct dsa_loader *loader = NULL;
		char why[DSA_WHY] = "";

		assert_true(dsa_open(&wrong[i], &loader, why) < 0);
		assert_null(loader);
		assert_true(strlen(why) > 0);
		assert_null(strchr(why, '\n'));
		assert_true(settles("/proc/self/task", threads));
		assert_int_equal(entries("/proc/self/fd"), fds);
	}
	tree_remove(empty);
}

TEST(close_waits_for_nobody)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader;

	setenv("DSA_LOADER", "storage_latency=1h,prep_delay=1h", 1);
	loader = delivered_open(&config);
	unsetenv("DSA_LOADER");
	dsa_close(loader);
}

TEST(a_forked_child_may_only_close)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader = delivered_open(&config);
	struct delivered whole = delivered_of(&config), log = {0};
	struct dsa_batch batch;
	int status;
	pid_t child;

	assert_true(delivered_step(&log, loader));
	assert_int_equal(dsa_next(loader, &batch), 1);
	child = fork();
	if (child == 0) {
		struct dsa_batch other;
		struct dsa_stats stats;
		bool refused = dsa_next(loader, &other) == -EOWNERDEAD &&
			       dsa_release(loader, &batch) == -EOWNERDEAD &&
			       dsa_compute(loader, &batch, 1e9) == -EOWNERDEAD &&
			       dsa_stats(loader, &stats) == -EOWNERDEAD;

		dsa_close(loader);
		/* the parent's next batches would change it */
		_exit(refused && !inherited(batch.data) ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	delivered_add(&log, &batch);
	assert_int_equal(dsa_release(loader, &batch), 0);
	delivered_finish(&log, loader);
	delivered_same(&whole, 0, &log);
}

/* Whatever allocation fails: it does not open and says so, or it loses nothing. */
TEST(running_out_of_memory_loses_nothing)
{
	struct dsa_config config = images_config(images_good);
	unsigned opened = 0;

	config.epochs = 1;
	config.cache = "minio";
	config.cache_size = "50%";
	for (unsigned i = 1; opened < 20; i++) {
		struct dsa_loader *loader = NULL;
		struct delivered log = {0};
		char why[DSA_WHY] = "";
		int result;

		assert_true(i < 2000);
		nomem_at(i);
		result = dsa_open(&config, &loader, why);
		if (result < 0) {
			nomem_at(0);
			assert_int_equal(result, -ENOMEM);
			assert_true(strlen(why) > 0);
			continue;
		}
		opened++;
		delivered_finish(&log, loader);
		nomem_at(0);
		if (log.end == 0)
			assert_int_equal(log.samples + log.stats.skipped, IMAGES_COUNT);
		else
			assert_int_equal(log.end, -ENOMEM);
	}
}

TEST_GROUP(images_setup, images_teardown);
