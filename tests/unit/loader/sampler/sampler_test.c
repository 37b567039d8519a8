#include "loader/base/error.h"
#include "loader/sampler.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <xxhash.h>

static struct sampler *open_sampler(const struct sampler_config *config)
{
	struct error err = {0};
	struct sampler *sampler = sampler_open(config, &err);

	if (sampler == NULL)
		fail_msg("%s", err.message);
	return sampler;
}

/* How often all ranks together read each sample in an epoch; *read is the sum. */
static uint8_t *audit(struct sampler_config config, uint64_t epoch, uint32_t *read)
{
	uint8_t *seen = calloc(config.count, 1);

	*read = 0;
	for (config.rank = 0; config.rank < config.world; config.rank++) {
		struct sampler *sampler = open_sampler(&config);
		uint32_t length = sampler_length(sampler);

		for (uint32_t i = 0; i < length; i++) {
			uint32_t sample = sampler_sample(sampler, epoch, i);

			assert_true(sample < config.count);
			seen[sample]++;
		}
		*read += length;
		sampler_close(sampler);
	}
	return seen;
}

static const uint32_t counts[] = {1, 2, 7, 64, 1000, 1281};
static const uint32_t worlds[] = {1, 2, 3, 8, 100};

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof((array)[0]); i++)

TEST(ranks_read_every_sample_once_an_epoch)
{
	for
		EACH(i, counts)
		for
			EACH(j, worlds)
		for (int order = 0; order < 3; order++) {
			const struct sampler_config config = {
				.count = counts[i],
				.world = worlds[j],
				.seed = 9,
				.in_order = order == 1,
				.blocks = {.run = order == 2 ? 5 : 0, .window = 15},
			};
			uint32_t read;
			uint8_t *seen = audit(config, i, &read);

			assert_int_equal(read, counts[i]);
			for (uint32_t k = 0; k < counts[i]; k++)
				assert_int_equal(seen[k], 1);
			free(seen);
		}
}

TEST(even_ranks_read_as_much_as_each_other)
{
	for
		EACH(i, counts)
		for
			EACH(j, worlds)
			{
				const struct sampler_config config = {
					.count = counts[i],
					.world = worlds[j],
					.even = true,
					.blocks = {.run = i % 2 ? 5 : 0, .window = 15},
				};
				uint32_t read;
				uint8_t *seen = audit(config, 0, &read);

				assert_int_equal(read,
						 counts[i] / worlds[j] * worlds[j]);
				for (uint32_t k = 0; k < counts[i]; k++)
					assert_in_range(seen[k], 0, 1);
				free(seen);
			}
}

TEST(more_ranks_than_samples_leave_some_without)
{
	struct sampler_config config = {.count = 3, .world = 5};

	for (config.rank = 0; config.rank < 5; config.rank++) {
		struct sampler *sampler = open_sampler(&config);

		assert_int_equal(sampler_length(sampler), config.rank < 3);
		sampler_close(sampler);
	}
}

/* Pinned: runs of any version on any machine read in this order. */
TEST(the_order_is_the_same_everywhere)
{
	enum { COUNT = 1000, FIRST = 8 };
	static const uint32_t first[FIRST] = {643, 724, 574, 474, 571, 412, 486, 957};
	const struct sampler_config config = {.count = COUNT, .world = 1, .seed = 42};
	struct sampler *sampler = open_sampler(&config);
	unsigned char bytes[COUNT * 2];

	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t sample = sampler_sample(sampler, 3, i);

		bytes[2 * i] = (unsigned char)sample;
		bytes[2 * i + 1] = (unsigned char)(sample >> 8);
		if (i < FIRST)
			assert_int_equal(sample, first[i]);
	}
	assert_int_equal(XXH3_64bits(bytes, sizeof(bytes)), 0xca22eb4e70fcb90c);
	sampler_close(sampler);
}

/* Resuming, going back, and walking over an edge all see the one row. */
TEST(any_position_can_be_asked_for_at_any_time)
{
	enum { COUNT = 50, EPOCHS = 4 };
	const struct sampler_config config = {.count = COUNT, .world = 3, .rank = 1};
	uint32_t row[EPOCHS][COUNT];
	struct sampler *sampler = open_sampler(&config);
	uint32_t length = sampler_length(sampler);

	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
		for (uint32_t i = 0; i < length; i++)
			row[epoch][i] = sampler_sample(sampler, epoch, i);
	sampler_close(sampler);
	sampler = open_sampler(&config);
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t epoch = i * 7 / 5 % EPOCHS;
		uint32_t position = i * 31 % length;

		assert_int_equal(sampler_sample(sampler, epoch, position),
				 row[epoch][position]);
	}
	sampler_close(sampler);
}

TEST(in_order_means_the_order_of_samples)
{
	const struct sampler_config config = {
		.count = UINT32_MAX,
		.world = 3,
		.rank = 2,
		.in_order = true,
	};
	struct sampler *sampler = open_sampler(&config);

	assert_int_equal(sampler_sample(sampler, 5, 0), 2);
	assert_int_equal(sampler_sample(sampler, 6, 1), 5);
	assert_int_equal(sampler_length(sampler), UINT32_MAX / 3);
	assert_int_equal(sampler_sample(sampler, 6, UINT32_MAX / 3 - 1),
			 UINT32_MAX - 1);
	sampler_close(sampler);
}

TEST(a_bad_shard_is_refused)
{
	const struct sampler_config empty = {.world = 1};
	const struct sampler_config beyond = {.count = 9, .rank = 2, .world = 2};
	struct error err = {0};

	assert_null(sampler_open(&empty, &err));
	assert_string_equal(err.message, "there are no samples to draw from");
	assert_null(sampler_open(&beyond, &err));
	assert_int_equal(err.code, EINVAL);
	assert_string_equal(err.message, "rank 2 is not one of 2: ranks count from 0");
}

TEST(sampler_open_says_so_when_memory_runs_out)
{
	const struct sampler_config config = {.count = 9, .world = 1};
	struct sampler *sampler = NULL;
	unsigned failures = 0;

	while (sampler == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		sampler = sampler_open(&config, &err);
		nomem_at(0);
		assert_int_equal(err.code, sampler == NULL ? ENOMEM : 0);
		failures += sampler == NULL;
	}
	assert_int_equal(failures, 3);
	sampler_close(sampler);
}
