/* loader_api_test.c - what a program gets, in which order, whoever is how fast. */
#include "tests/lib/delivered.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Each sample of each epoch exactly as often as wanted. */
static void assert_once(const struct delivered *log, uint64_t epochs,
			bool (*wanted)(unsigned number))
{
	unsigned seen[3][IMAGES_COUNT] = {{0}};

	for (unsigned i = 0; i < log->samples; i++) {
		assert_true(log->row[i].epoch < epochs);
		assert_true(log->row[i].sample < IMAGES_COUNT);
		assert_int_equal(log->row[i].label,
				 log->row[i].sample / (IMAGES_COUNT / IMAGES_CLASSES));
		seen[log->row[i].epoch][log->row[i].sample]++;
	}
	for (uint64_t epoch = 0; epoch < epochs; epoch++)
		for (unsigned i = 0; i < IMAGES_COUNT; i++)
			assert_int_equal(seen[epoch][i], wanted(i));
}

static bool every(unsigned number)
{
	(void)number;
	return true;
}

static bool not_bad(unsigned number)
{
	return !images_is_bad(number);
}

TEST(every_sample_comes_once_an_epoch)
{
	struct dsa_config config = images_config(images_good);
	struct delivered log = delivered_of(&config);
	unsigned same = 0;

	assert_int_equal(log.end, 0);
	assert_once(&log, 3, every);
	assert_int_equal(log.stats.samples, 3 * IMAGES_COUNT);
	assert_int_equal(log.stats.steps_per_epoch, 9);
	assert_int_equal(log.stats.skipped, 0);
	assert_int_equal(log.stats.dataset_samples, IMAGES_COUNT);
	assert_int_equal(log.stats.classes, IMAGES_CLASSES);
	for (unsigned i = 0; i < IMAGES_COUNT; i++)
		same += log.row[i].sample == log.row[IMAGES_COUNT + i].sample;
	assert_true(same < IMAGES_COUNT / 4); /* each epoch has an order of its own */
}

TEST(order_and_numbers_do_not_depend_on_threads)
{
	static const unsigned workers[] = {2, 4, 8};
	static const char *const caches[] = {"none", "minio", "lru", "fifo", "page"};
	static const char *const engines[] = {"pread", "uring", "pread-direct"};
	struct dsa_config config = images_config(images_good);
	struct delivered one, other;

	config.workers = 1;
	one = delivered_of(&config);
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		config.fetch_depth = 1 + 7 * i;
		other = delivered_of(&config);
		delivered_same(&one, 0, &other);
	}
	for (unsigned i = 0; i < 5; i++) {
		config.cache = caches[i];
		config.cache_size = "40%";
		config.fetch = engines[i % 3];
		other = delivered_of(&config);
		delivered_same(&one, 0, &other);
	}
}

TEST(another_seed_is_another_order)
{
	struct dsa_config config = images_config(images_good);
	struct delivered one = delivered_of(&config), other;
	unsigned same = 0;

	config.seed++;
	other = delivered_of(&config);
	for (unsigned i = 0; i < IMAGES_COUNT; i++)
		same += one.row[i].sample == other.row[i].sample;
	assert_true(same < IMAGES_COUNT / 4);
	assert_once(&other, 3, every);
}

TEST(a_run_resumes_where_another_ended)
{
	struct dsa_config config = images_config(images_good);
	struct delivered whole = delivered_of(&config), begun = {0}, rest;
	struct dsa_loader *loader = delivered_open(&config);
	struct dsa_stats stats;

	for (unsigned i = 0; i < 13; i++) /* into the second epoch */
		assert_true(delivered_step(&begun, loader));
	assert_int_equal(dsa_stats(loader, &stats), 0);
	dsa_close(loader);
	assert_int_equal(stats.epoch, 1);
	assert_int_equal(stats.step, 4);
	config.epochs = 2; /* counted from here */
	config.start_epoch = stats.epoch;
	config.start_step = stats.step;
	rest = delivered_of(&config);
	delivered_same(&whole, begun.samples, &rest);
}

TEST(drop_last_leaves_short_batches_out)
{
	struct dsa_config config = images_config(images_good);
	struct delivered log;

	config.drop_last = 1;
	log = delivered_of(&config);
	assert_int_equal(log.batches, 3 * 8);
	assert_int_equal(log.samples, 3 * 8 * 7);
	assert_int_equal(log.stats.steps_per_epoch, 8);
}

TEST(ranks_share_an_epoch_without_overlap)
{
	struct dsa_config config = images_config(images_good);
	struct delivered all = {0}, one;

	config.world = 4;
	for (config.rank = 0; config.rank < 4; config.rank++) {
		one = delivered_of(&config);
		assert_int_equal(one.samples, 3 * IMAGES_COUNT / 4);
		memcpy(&all.row[all.samples], one.row,
		       one.samples * sizeof(one.row[0]));
		all.samples += one.samples;
	}
	assert_once(&all, 3, every);
}

TEST(corrupt_samples_are_skipped_alike_by_any_workers)
{
	static const unsigned workers[] = {2, 4, 8};
	struct dsa_config config = images_config(images_bad);
	struct delivered one, other;

	config.workers = 1;
	one = delivered_of(&config);
	assert_int_equal(one.end, 0);
	assert_once(&one, 3, not_bad);
	assert_int_equal(one.stats.skipped, IMAGES_BAD); /* each is tried once */
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		config.cache = i == 1 ? "minio" : "none";
		config.cache_size = "100%";
		other = delivered_of(&config);
		delivered_same(&one, 0, &other);
		assert_int_equal(other.stats.skipped, IMAGES_BAD);
	}
}

TEST(a_corrupt_sample_ends_the_data_when_asked)
{
	static const unsigned workers[] = {2, 4, 8};
	struct dsa_config config = images_config(images_bad);
	struct delivered one, other;

	config.on_error = DSA_FAIL;
	config.workers = 1;
	one = delivered_of(&config);
	assert_int_equal(one.end, -EBADMSG);
	assert_non_null(strstr(one.why, "class"));
	for (unsigned i = 0; i < 3; i++) {
		config.workers = workers[i];
		other = delivered_of(&config);
		assert_int_equal(other.end, -EBADMSG);
		assert_string_equal(other.why, one.why);
		delivered_same(&one, 0, &other);
	}
}

TEST(two_loaders_do_not_know_each_other)
{
	struct dsa_config first = images_config(images_good),
			  second = images_config(images_bad);
	struct delivered alone_first, alone_second, one = {0}, two = {0};
	struct dsa_loader *a, *b;

	second.seed = 99;
	second.batch = 5;
	second.layout = DSA_NHWC;
	alone_first = delivered_of(&first);
	alone_second = delivered_of(&second);
	a = delivered_open(&first);
	b = delivered_open(&second);
	for (int i = 0; i < 10; i++) {
		assert_true(delivered_step(&one, a));
		assert_true(delivered_step(&two, b));
	}
	delivered_finish(&one, a);
	delivered_finish(&two, b);
	delivered_same(&alone_first, 0, &one);
	delivered_same(&alone_second, 0, &two);
}

TEST(data_without_a_whole_batch_fails)
{
	struct dsa_config config = images_config(images_bad);
	struct dsa_loader *loader;
	struct dsa_batch batch;

	config.drop_last = 1;
	config.batch = IMAGES_COUNT;
	config.epochs = 0;
	loader = delivered_open(&config);
	assert_int_equal(dsa_next(loader, &batch), -EBADMSG);
	assert_non_null(strstr(dsa_why(loader), "no whole batch of an epoch"));
	dsa_close(loader);
	config.epochs = 1; /* what was read may be had elsewhere */
	loader = delivered_open(&config);
	assert_int_equal(dsa_next(loader, &batch), 0);
	dsa_close(loader);
}

TEST(batches_larger_than_an_epoch_are_refused)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader;
	struct dsa_batch batch;
	char why[DSA_WHY];

	config.drop_last = 1;
	config.batch = IMAGES_COUNT + 1;
	for (config.epochs = 0; config.epochs < 3; config.epochs += 2) {
		assert_int_equal(dsa_open(&config, &loader, why), -EINVAL);
		assert_string_equal(why, "no whole batch of an epoch: it has 60 "
					 "samples, and a batch 61; make batches "
					 "smaller, or leave drop_last out");
	}
	config.epochs = 1;
	loader = delivered_open(&config);
	assert_int_equal(dsa_next(loader, &batch), 0);
	dsa_close(loader);
}

TEST(batches_may_be_held_and_given_back_in_any_order)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader = delivered_open(&config);
	struct dsa_batch held[8], one_more;
	unsigned count = 0;
	int result = 1;

	while (count < 8 && (result = dsa_next(loader, &held[count])) == 1)
		count++;
	assert_int_equal(result, -EBUSY);
	assert_non_null(strstr(dsa_why(loader), "batches are held: release some"));
	assert_true(count >= config.prefetch);
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_true(held[i].slot != held[j].slot);
	assert_int_equal(dsa_release(loader, &held[1]), 0);
	assert_int_equal(dsa_release(loader, &held[1]), -EINVAL);
	assert_int_equal(dsa_next(loader, &one_more), 1);
	assert_int_equal(one_more.number, count);
	while (one_more.slot != held[1].slot) {
		assert_int_equal(dsa_release(loader, &one_more), 0);
		assert_int_equal(dsa_next(loader, &one_more), 1);
	}
	assert_int_equal(dsa_release(loader, &held[1]), -EINVAL);
	assert_non_null(strstr(dsa_why(loader), "each is released once"));
	assert_int_equal(dsa_release(loader, &one_more), 0);
	assert_int_equal(dsa_release(loader, &held[0]), 0);
	dsa_close(loader); /* with the rest still held */
}

TEST(a_cache_that_holds_all_reads_the_data_once)
{
	static const char *const caches[] = {"minio", "lru", "fifo"};
	struct dsa_config config = images_config(images_good);

	config.in_order = 1; /* else the next epoch may want what is still in use */
	for (unsigned i = 0; i < 3; i++) {
		struct delivered log;

		config.cache = caches[i];
		config.cache_size = "1G";
		log = delivered_of(&config);
		assert_int_equal(log.stats.misses, IMAGES_COUNT);
		assert_int_equal(log.stats.hits, 2 * IMAGES_COUNT);
		assert_int_equal(log.stats.fetched_bytes, log.stats.dataset_bytes);
		assert_int_equal(log.stats.resident_bytes, log.stats.dataset_bytes);
	}
}

TEST(the_emulated_accelerator_refuses_nonsense)
{
	struct dsa_config config = images_config(images_good);
	struct dsa_loader *loader = delivered_open(&config);
	struct dsa_batch batch;

	assert_int_equal(dsa_next(loader, &batch), 1);
	assert_int_equal(dsa_compute(loader, &batch, 0), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, -1), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, NAN), -EINVAL);
	assert_int_equal(dsa_compute(loader, &batch, 1e9), 0);
	dsa_close(loader);
}

TEST_GROUP(images_setup, images_teardown);
