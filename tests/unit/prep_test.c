/* prep_run() as the loader sees it: what comes in, what goes out, what is refused. */
#include "loader/base/error.h"
#include "loader/prep.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct sample {
	size_t size; /* bytes of the sample */
	void *data;
	int result;
	struct error err;
};

/* Prepares bytes in a worker of its own; the caller frees data. */
static struct sample prepare(const struct prep_config *config, const void *bytes,
			     size_t size, uint64_t seed)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker;
	struct sample sample = {0};

	assert_non_null(prep);
	worker = prep_worker_new(prep);
	assert_non_null(worker);
	sample.size = prep_sample_bytes(prep);
	sample.data = aligned_alloc(64, (sample.size + 63) / 64 * 64);
	assert_non_null(sample.data);
	sample.result = prep_run(worker, bytes, size, seed, sample.data, &sample.err);
	prep_worker_free(worker);
	prep_close(prep);
	return sample;
}

static struct sample prepare_picture(const struct prep_config *config,
				     const struct picture *picture, uint64_t seed)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(picture, &size);
	struct sample sample = prepare(config, bytes, size, seed);

	free(bytes);
	return sample;
}

static void a_seed_gives_the_same_sample_and_another_seed_another(void **state)
{
	const struct picture picture = {.width = 300, .height = 200, .h = 2, .v = 2};
	struct sample a = prepare_picture(&prep_defaults, &picture, 5);
	struct sample b = prepare_picture(&prep_defaults, &picture, 5);
	struct sample c = prepare_picture(&prep_defaults, &picture, 6);

	(void)state;
	assert_int_equal(a.result, 0);
	assert_int_equal(a.size, 3 * 224 * 224 * sizeof(float));
	assert_memory_equal(a.data, b.data, a.size);
	assert_memory_not_equal(a.data, c.data, a.size);
	free(a.data);
	free(b.data);
	free(c.data);
}

static void raw_delivers_the_head_and_zeros(void **state)
{
	struct prep_config config = prep_defaults;
	struct sample sample;
	unsigned char bytes[20];

	(void)state;
	config.op = "raw";
	config.type = PREP_U8;
	config.size = 2;
	memset(bytes, 7, sizeof(bytes));
	sample = prepare(&config, bytes, 5, 0);
	assert_int_equal(sample.size, 12);
	assert_memory_equal(sample.data, "\7\7\7\7\7\0\0\0\0\0\0\0", 12);
	free(sample.data);
	sample = prepare(&config, bytes, sizeof(bytes), 0);
	assert_memory_equal(sample.data, bytes, 12);
	free(sample.data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_gives_the_same_sample_and_another_seed_another),
		cmocka_unit_test(raw_delivers_the_head_and_zeros),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("prep", tests, NULL, NULL);
}
