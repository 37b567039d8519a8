/* The loader as a program sees it: dsa/loader.h, DSA_LOADER, and what stays behind. */
#include "loader/loader.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { IMAGES = 60, CLASSES = 3, MOST = 3 * IMAGES };

/* Samples of `bad` that can't be decoded; the rest can. */
static const unsigned bad_ones[] = {4, 17, 31, 32, 59};
enum { BAD = sizeof(bad_ones) / sizeof(bad_ones[0]) };

static char good[TREE_PATH], bad[TREE_PATH], home[TREE_PATH];

static void put_bytes(const char *root, unsigned number, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "/class%u/image%02u.jpg",
		 number / (IMAGES / CLASSES), number);
	file = tree_file(root, path);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static bool is_bad(unsigned number)
{
	for (unsigned i = 0; i < BAD; i++)
		if (bad_ones[i] == number)
			return true;
	return false;
}

static int make_trees(void **state)
{
	(void)state;
	tree_make(home); /* indexes are kept there */
	setenv("XDG_CACHE_HOME", home, 1);
	tree_make(good);
	tree_make(bad);
	for (unsigned i = 0; i < IMAGES; i++) {
		struct picture picture = {.width = 40 + i, .height = 100 - i};
		size_t size;
		unsigned char *jpeg = picture_jpeg(&picture, &size);

		put_bytes(good, i, jpeg, size);
		/* Cut in the middle, and no picture at all, by turns. */
		put_bytes(bad, i, is_bad(i) && i % 2 ? (const void *)"nothing" : jpeg,
			  !is_bad(i) ? size
			  : i % 2    ? 7
				     : size / 2);
		free(jpeg);
	}
	return 0;
}

static int remove_trees(void **state)
{
	(void)state;
	tree_remove(good);
	tree_remove(bad);
	tree_remove(home);
	return 0;
}

static struct dsa_config config_of(const char *dataset)
{
	return (struct dsa_config){
		.dataset = dataset,
		.batch = 7, /* no divisor of anything here */
		.workers = 2,
		.prefetch = 3,
		.fetch_depth = 4,
		.fetch = "pread",
		.cache = "none",
		.seed = 5,
		.epochs = 3,
		.size = 16,
		.type = DSA_UINT8,
	};
}

/* Everything that a loader delivered, in order. */
struct log {
	unsigned batches, samples;
	int end; /* what dsa_next() returned last */
	char why[DSA_WHY];
	struct {
		uint64_t epoch, step, content; /* hash of the sample's numbers */
		uint32_t sample, label;
	} row[MOST];
	struct dsa_stats stats;
};

static uint64_t hash(const unsigned char *bytes, size_t size)
{
	uint64_t sum = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 1099511628211u;
	return sum;
}

static void log_batch(struct log *log, const struct dsa_batch *batch)
{
	const unsigned char *bytes = batch->data;

	assert_true(batch->count > 0);
	assert_true(log->samples + batch->count <= MOST);
	assert_int_equal(batch->number, log->batches++);
	for (uint32_t i = 0; i < batch->count; i++, log->samples++) {
		log->row[log->samples].epoch = batch->epoch;
		log->row[log->samples].step = batch->step;
		log->row[log->samples].sample = batch->samples[i];
		log->row[log->samples].label = batch->labels[i];
		log->row[log->samples].content =
			hash(bytes + i * batch->sample_bytes, batch->sample_bytes);
	}
}

static struct dsa_loader *open_or_fail(const struct dsa_config *config)
{
	struct dsa_loader *loader = NULL;
	char why[DSA_WHY] = "";

	if (dsa_open(config, &loader, why) < 0)
		fail_msg("%s", why);
	return loader;
}

/* One batch into the log; false at the end. */
static bool step(struct dsa_loader *loader, struct log *log)
{
	struct dsa_batch batch;

	log->end = dsa_next(loader, &batch);
	if (log->end <= 0)
		return false;
	log_batch(log, &batch);
	assert_int_equal(dsa_release(loader, &batch), 0);
	return true;
}

static void finish(struct dsa_loader *loader, struct log *log)
{
	while (step(loader, log))
		;
	snprintf(log->why, sizeof(log->why), "%s", dsa_why(loader));
	assert_int_equal(dsa_stats(loader, &log->stats), 0);
	dsa_close(loader);
}

static struct log run(const struct dsa_config *config)
{
	struct log log = {0};

	finish(open_or_fail(config), &log);
	return log;
}

static void assert_same_rows(const struct log *a, unsigned from, const struct log *b)
{
	assert_int_equal(a->samples - from, b->samples);
	assert_memory_equal(&a->row[from], b->row, b->samples * sizeof(b->row[0]));
}

/* Each sample of each epoch exactly as often as wanted. */
static void assert_once(const struct log *log, uint64_t epochs,
			bool (*wanted)(unsigned number))
{
	unsigned seen[3][IMAGES] = {{0}};

	for (unsigned i = 0; i < log->samples; i++) {
		assert_true(log->row[i].epoch < epochs);
		assert_true(log->row[i].sample < IMAGES);
		assert_int_equal(log->row[i].label,
				 log->row[i].sample / (IMAGES / CLASSES));
		seen[log->row[i].epoch][log->row[i].sample]++;
	}
	for (uint64_t epoch = 0; epoch < epochs; epoch++)
		for (unsigned i = 0; i < IMAGES; i++)
			assert_int_equal(seen[epoch][i], wanted(i));
}

static bool every(unsigned number)
{
	(void)number;
	return true;
}

static bool not_bad(unsigned number)
{
	return !is_bad(number);
}

static void every_sample_comes_once_an_epoch(void **state)
{
	struct dsa_config config = config_of(good);
	struct log log = run(&config);
	unsigned same = 0;

	(void)state;
	assert_int_equal(log.end, 0);
	assert_once(&log, 3, every);
	assert_int_equal(log.stats.samples, 3 * IMAGES);
	assert_int_equal(log.stats.steps_per_epoch, 9);
	assert_int_equal(log.stats.skipped, 0);
	assert_int_equal(log.stats.dataset_samples, IMAGES);
	assert_int_equal(log.stats.classes, CLASSES);
	for (unsigned i = 0; i < IMAGES; i++)
		same += log.row[i].sample == log.row[IMAGES + i].sample;
	assert_true(same < IMAGES / 4); /* each epoch has an order of its own */
}

static void order_and_numbers_do_not_depend_on_threads(void **state)
{
	static const unsigned workers[] = {2, 4, 8};
	static const char *const caches[] = {"none", "minio", "lru", "fifo", "page"};
	static const char *const engines[] = {"pread", "uring", "pread-direct"};
	struct dsa_config config = config_of(good);
	struct log one, other;

	(void)state;
	config.workers = 1;
	one = run(&config);
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		config.fetch_depth = 1 + 7 * i;
		other = run(&config);
		assert_same_rows(&one, 0, &other);
	}
	for (unsigned i = 0; i < 5; i++) {
		config.cache = caches[i];
		config.cache_size = "40%";
		config.fetch = engines[i % 3];
		other = run(&config);
		assert_same_rows(&one, 0, &other);
	}
}

static void another_seed_is_another_order(void **state)
{
	struct dsa_config config = config_of(good);
	struct log one = run(&config), other;
	unsigned same = 0;

	(void)state;
	config.seed++;
	other = run(&config);
	for (unsigned i = 0; i < IMAGES; i++)
		same += one.row[i].sample == other.row[i].sample;
	assert_true(same < IMAGES / 4);
	assert_once(&other, 3, every);
}

static void a_run_resumes_where_another_ended(void **state)
{
	struct dsa_config config = config_of(good);
	struct log whole = run(&config), begun = {0}, rest;
	struct dsa_loader *loader = open_or_fail(&config);
	struct dsa_stats stats;

	(void)state;
	for (unsigned i = 0; i < 13; i++) /* into the second epoch */
		assert_true(step(loader, &begun));
	assert_int_equal(dsa_stats(loader, &stats), 0);
	dsa_close(loader);
	assert_int_equal(stats.epoch, 1);
	assert_int_equal(stats.step, 4);
	config.epochs = 2; /* counted from here */
	config.start_epoch = stats.epoch;
	config.start_step = stats.step;
	rest = run(&config);
	assert_same_rows(&whole, begun.samples, &rest);
}

static void drop_last_leaves_short_batches_out(void **state)
{
	struct dsa_config config = config_of(good);
	struct log log;

	(void)state;
	config.drop_last = 1;
	log = run(&config);
	assert_int_equal(log.batches, 3 * 8);
	assert_int_equal(log.samples, 3 * 8 * 7);
	assert_int_equal(log.stats.steps_per_epoch, 8);
}

static void ranks_share_an_epoch_without_overlap(void **state)
{
	struct dsa_config config = config_of(good);
	struct log all = {0}, one;

	(void)state;
	config.world = 4;
	for (config.rank = 0; config.rank < 4; config.rank++) {
		one = run(&config);
		assert_int_equal(one.samples, 3 * IMAGES / 4);
		memcpy(&all.row[all.samples], one.row,
		       one.samples * sizeof(one.row[0]));
		all.samples += one.samples;
	}
	assert_once(&all, 3, every);
}

static void corrupt_samples_are_skipped_alike_by_any_workers(void **state)
{
	static const unsigned workers[] = {2, 4, 8};
	struct dsa_config config = config_of(bad);
	struct log one, other;

	(void)state;
	config.workers = 1;
	one = run(&config);
	assert_int_equal(one.end, 0);
	assert_once(&one, 3, not_bad);
	assert_int_equal(one.stats.skipped, BAD); /* each is tried once */
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		config.cache = i == 1 ? "minio" : "none";
		config.cache_size = "100%";
		other = run(&config);
		assert_same_rows(&one, 0, &other);
		assert_int_equal(other.stats.skipped, BAD);
	}
}

static void a_corrupt_sample_ends_the_data_when_asked(void **state)
{
	static const unsigned workers[] = {2, 4, 8};
	struct dsa_config config = config_of(bad);
	struct log one, other;

	(void)state;
	config.on_error = DSA_FAIL;
	config.workers = 1;
	one = run(&config);
	assert_int_equal(one.end, -EBADMSG);
	assert_non_null(strstr(one.why, "class"));
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		other = run(&config);
		assert_int_equal(other.end, -EBADMSG);
		assert_string_equal(other.why, one.why);
		assert_same_rows(&one, 0, &other);
	}
}

static void two_loaders_do_not_know_each_other(void **state)
{
	struct dsa_config first = config_of(good), second = config_of(bad);
	struct log alone_first, alone_second, one = {0}, two = {0};
	struct dsa_loader *a, *b;

	(void)state;
	second.seed = 99;
	second.batch = 5;
	second.layout = DSA_NHWC;
	alone_first = run(&first);
	alone_second = run(&second);
	a = open_or_fail(&first);
	b = open_or_fail(&second);
	for (int i = 0; i < 10; i++) {
		assert_true(step(a, &one));
		assert_true(step(b, &two));
	}
	finish(a, &one);
	finish(b, &two);
	assert_same_rows(&alone_first, 0, &one);
	assert_same_rows(&alone_second, 0, &two);
}

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

static void close_leaves_nothing_behind(void **state)
{
	static const char *const engines[] = {"pread", "uring", "pread-direct",
					      "uring-direct", "auto"};
	unsigned threads = resting_threads(), fds, maps;
	struct dsa_config config = config_of(good);

	(void)state;
	fds = entries("/proc/self/fd");
	maps = mappings_of_ours();
	for (unsigned i = 0; i < 5; i++) {
		struct dsa_loader *loader;
		struct log log = {0};

		config.fetch = engines[i];
		loader = open_or_fail(&config);
		assert_true(entries("/proc/self/task") > threads);
		for (unsigned j = 0; j < i; j++) /* closed at once, or later */
			assert_true(step(loader, &log));
		dsa_close(loader);
		assert_true(settles("/proc/self/task", threads));
		assert_int_equal(entries("/proc/self/fd"), fds);
		assert_int_equal(mappings_of_ours(), maps);
	}
}

static void a_loader_that_does_not_open_leaves_nothing_behind(void **state)
{
	unsigned threads = resting_threads(), fds = entries("/proc/self/fd");
	struct dsa_config wrong[5];
	char empty[TREE_PATH];

	(void)state;
	tree_make(empty);
	for (unsigned i = 0; i < 5; i++)
		wrong[i] = config_of(good);
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

static void batches_may_be_held_and_given_back_in_any_order(void **state)
{
	struct dsa_config config = config_of(good);
	struct dsa_loader *loader = open_or_fail(&config);
	struct dsa_batch held[8], one_more;
	unsigned count = 0;
	int result = 1;

	(void)state;
	while (count < 8 && (result = dsa_next(loader, &held[count])) == 1)
		count++;
	assert_int_equal(result, -EBUSY);
	assert_true(count >= config.prefetch);
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_true(held[i].slot != held[j].slot);
	assert_int_equal(dsa_release(loader, &held[1]), 0);
	assert_int_equal(dsa_release(loader, &held[1]), -EINVAL);
	assert_int_equal(dsa_next(loader, &one_more), 1);
	assert_int_equal(one_more.number, count);
	assert_int_equal(dsa_release(loader, &held[0]), 0);
	dsa_close(loader); /* with the rest still held */
}

static void close_waits_for_nobody(void **state)
{
	struct dsa_config config = config_of(good);
	struct dsa_loader *loader;

	(void)state;
	setenv("DSA_LOADER", "storage_latency=1h,prep_delay=1h", 1);
	loader = open_or_fail(&config);
	unsetenv("DSA_LOADER");
	dsa_close(loader);
}

static void a_forked_child_may_only_close(void **state)
{
	struct dsa_config config = config_of(good);
	struct dsa_loader *loader = open_or_fail(&config);
	struct log whole = run(&config), log = {0};
	struct dsa_batch batch;
	int status;
	pid_t child;

	(void)state;
	assert_true(step(loader, &log));
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
		_exit(refused ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	log_batch(&log, &batch);
	assert_int_equal(dsa_release(loader, &batch), 0);
	finish(loader, &log);
	assert_same_rows(&whole, 0, &log);
}

static void the_environment_overrides_the_program(void **state)
{
	struct dsa_config config = config_of("/nonexistent");
	struct dsa_config same = config_of(good);
	char text[256];
	struct log one, other;

	(void)state;
	same.batch = 11;
	same.seed = 77;
	same.epochs = 1;
	same.in_order = 1;
	one = run(&same);
	snprintf(text, sizeof(text),
		 "dataset=%s,batch=11,,seed=77,epochs=1,in_order=1,cache=minio,"
		 "cache_size=35%%",
		 good);
	setenv("DSA_LOADER", text, 1);
	other = run(&config);
	unsetenv("DSA_LOADER");
	assert_same_rows(&one, 0, &other);
	for (unsigned i = 0; i < IMAGES; i++)
		assert_int_equal(other.row[i].sample, i);
	assert_true(other.stats.resident_bytes > 0);
}

static void a_wrong_environment_is_named(void **state)
{
	static const struct {
		const char *text, *named;
	} wrong[] = {
		{"bach=3", "bach"},          {"batch", "batch"},
		{"batch=0", "batch"},        {"batch=99999999999999999999", "batch"},
		{"workers=-1", "workers"},   {"cache=magic", "magic"},
		{"cache_size=120%", "120%"}, {"prep_delay=fast", "prep_delay"},
		{"rank=2,world=2", "rank"},  {"dataset=%zz", "dataset"},
		{"type=int4", "type"},       {"fetch=pigeon", "pigeon"},
	};
	struct dsa_config config = config_of(good);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dsa_loader *loader = NULL;
		char why[DSA_WHY] = "";
		int result;

		setenv("DSA_LOADER", wrong[i].text, 1);
		result = dsa_open(&config, &loader, why);
		unsetenv("DSA_LOADER");
		assert_int_equal(result, -EINVAL);
		assert_non_null(strstr(why, wrong[i].named));
	}
}

static void a_session_that_is_gone_harms_nobody(void **state)
{
	struct dsa_config config = config_of(good);
	struct log alone = run(&config), log;
	struct dsa_loader *loader = NULL;
	char path[64], why[DSA_WHY] = "";

	(void)state;
	snprintf(path, sizeof(path), "%s/session", home);
	setenv("DSA_SESSION", path, 1);
	log = run(&config);
	assert_same_rows(&alone, 0, &log);

	/* What is no session is a mistake that somebody wants to hear of. */
	tree_put(home, "/session", "something else");
	assert_int_equal(dsa_open(&config, &loader, why), -EINVAL);
	assert_non_null(strstr(why, "DSA_SESSION"));
	assert_non_null(strstr(why, path));
	unsetenv("DSA_SESSION");
}

static void a_program_may_say_itself_whether_it_shares(void **state)
{
	struct dsa_config config = config_of(good);
	struct log own = run(&config), log;
	struct dsa_loader *loader = NULL;
	char why[DSA_WHY] = "";

	(void)state;
	config.share = "/nowhere/config";
	assert_int_equal(dsa_open(&config, &loader, why), -ENOENT);
	assert_non_null(strstr(why, config.share));
	setenv("DSA_SHARE", "/nowhere/environment", 1);
	assert_int_equal(dsa_open(&config, &loader, why), -ENOENT);
	assert_non_null(strstr(why, config.share));
	config.share = "";
	log = run(&config);
	assert_same_rows(&own, 0, &log);
	unsetenv("DSA_SHARE");
}

static void a_cache_that_holds_all_reads_the_data_once(void **state)
{
	static const char *const caches[] = {"minio", "lru", "fifo"};
	struct dsa_config config = config_of(good);

	(void)state;
	config.in_order = 1; /* else the next epoch may want what is still in use */
	for (unsigned i = 0; i < 3; i++) {
		struct log log;

		config.cache = caches[i];
		config.cache_size = "1G";
		log = run(&config);
		assert_int_equal(log.stats.misses, IMAGES);
		assert_int_equal(log.stats.hits, 2 * IMAGES);
		assert_int_equal(log.stats.fetched_bytes, log.stats.dataset_bytes);
		assert_int_equal(log.stats.resident_bytes, log.stats.dataset_bytes);
	}
}

static void the_emulated_accelerator_refuses_nonsense(void **state)
{
	struct dsa_config config = config_of(good);
	struct dsa_loader *loader = open_or_fail(&config);
	struct dsa_batch batch;

	(void)state;
	assert_int_equal(dsa_next(loader, &batch), 1);
	assert_int_equal(dsa_compute(loader, &batch, 0), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, -1), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, NAN), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, 1e9), 0);
	dsa_close(loader);
}

/* Whatever allocation fails: it does not open and says so, or it loses nothing. */
static void running_out_of_memory_loses_nothing(void **state)
{
	struct dsa_config config = config_of(good);
	unsigned opened = 0;

	(void)state;
	config.epochs = 1;
	config.cache = "minio";
	config.cache_size = "50%";
	for (unsigned i = 1; opened < 20; i++) {
		struct dsa_loader *loader = NULL;
		struct log log = {0};
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
		finish(loader, &log);
		nomem_at(0);
		if (log.end == 0)
			assert_int_equal(log.samples + log.stats.skipped, IMAGES);
		else
			assert_int_equal(log.end, -ENOMEM);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_comes_once_an_epoch),
		cmocka_unit_test(order_and_numbers_do_not_depend_on_threads),
		cmocka_unit_test(another_seed_is_another_order),
		cmocka_unit_test(a_run_resumes_where_another_ended),
		cmocka_unit_test(drop_last_leaves_short_batches_out),
		cmocka_unit_test(ranks_share_an_epoch_without_overlap),
		cmocka_unit_test(corrupt_samples_are_skipped_alike_by_any_workers),
		cmocka_unit_test(a_corrupt_sample_ends_the_data_when_asked),
		cmocka_unit_test(two_loaders_do_not_know_each_other),
		cmocka_unit_test(close_leaves_nothing_behind),
		cmocka_unit_test(a_loader_that_does_not_open_leaves_nothing_behind),
		cmocka_unit_test(batches_may_be_held_and_given_back_in_any_order),
		cmocka_unit_test(close_waits_for_nobody),
		cmocka_unit_test(a_forked_child_may_only_close),
		cmocka_unit_test(the_environment_overrides_the_program),
		cmocka_unit_test(a_wrong_environment_is_named),
		cmocka_unit_test(a_session_that_is_gone_harms_nobody),
		cmocka_unit_test(a_program_may_say_itself_whether_it_shares),
		cmocka_unit_test(a_cache_that_holds_all_reads_the_data_once),
		cmocka_unit_test(the_emulated_accelerator_refuses_nonsense),
		cmocka_unit_test(running_out_of_memory_loses_nothing),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("loader_api", tests, make_trees,
					   remove_trees);
}
