#include "loader/base/error.h"
#include "loader/options.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static struct options options;
static struct error err;

static int resolve(const struct dsa_config *config, const char *text)
{
	err = (struct error){0};
	return options_resolve(&options, config, text, &err);
}

TEST(what_is_not_said_has_the_documented_default)
{
	const struct dsa_config config = {.dataset = "images"};

	assert_int_equal(resolve(&config, NULL), 0);
	assert_int_equal(options.batch, 64);
	assert_int_equal(options.prefetch, 4);
	assert_int_equal(options.fetch_depth, 16);
	assert_true(options.depth_auto);
	assert_string_equal(options.fetch, "auto");
	assert_string_equal(options.cache, "page");
	assert_string_equal(options.image.op, "image");
	assert_int_equal(options.image.size, 224);
	assert_int_equal(options.world, 1);
	assert_true(options.workers >= 1);
	assert_false(options.alone);
	assert_true(options.takeover == 0);
}

TEST(tokens_of_16_bits_need_no_word)
{
	struct dsa_config config = {.dataset = "words", .token_bits = 16};

	assert_int_equal(resolve(&config, NULL), 0);
	assert_int_equal(options.image.token_bits, 0);
	assert_int_equal(resolve(&config, "token_bits=32"), 0);
	assert_int_equal(options.image.token_bits, 32);
	assert_int_equal(resolve(&config, "token_bits=32,token_bits=16"), 0);
	assert_int_equal(options.image.token_bits, 0);
}

TEST(emulated_storage_is_read_past_the_page_cache)
{
	const struct dsa_config config = {.dataset = "images"};

	assert_int_equal(resolve(&config, "storage_latency=5ms"), 0);
	assert_string_equal(options.cache, "none");
	assert_int_equal(resolve(&config, "storage_bandwidth=1M,cache=page"), 0);
	assert_string_equal(options.cache, "page");
}

TEST(a_cache_has_a_size)
{
	static const char *const policies[] = {"minio", "lru", "fifo"};
	struct dsa_config config = {.dataset = "images"};

	for (size_t i = 0; i < 3; i++) {
		config.cache = policies[i];
		assert_int_equal(resolve(&config, NULL), -EINVAL);
		assert_non_null(strstr(err.message, "how much may it hold"));
		assert_int_equal(resolve(&config, "cache_size=0%"), 0);
		assert_int_equal(resolve(&config, "cache=page"), 0);
	}
}

TEST(the_environment_wins_over_the_program)
{
	const struct dsa_config config = {.dataset = "images", .batch = 8, .size = 32};

	assert_int_equal(resolve(&config,
				 "dataset=a%2Cb,batch=16,cache_size=35%,seed=9,"
				 "storage_bandwidth=10M,storage_latency=5ms,"
				 "prep_delay=300us,type=uint8,layout=nhwc"),
			 0);
	assert_string_equal(options.dataset, "a,b");
	assert_int_equal(options.batch, 16);
	assert_string_equal(options.cache, "minio"); /* a size alone means the best */
	assert_true(options.cache_share > .349 && options.cache_share < .351);
	assert_true(options.storage_bandwidth == 10e6);
	assert_true(options.storage_latency == .005);
	assert_true(options.prep_delay == .0003);
	assert_int_equal(options.image.type, PREP_U8);
	assert_int_equal(options.image.layout, PREP_NHWC);
	assert_int_equal(options.image.size, 32);
	assert_int_equal(options.image.resize, 37);
	assert_int_equal(options.seed, 9);
	assert_int_equal(resolve(&config, "size=112"), 0);
	assert_int_equal(options.image.resize, 128); /* of the size that counts */
	assert_int_equal(resolve(&config, "alone=load,takeover=1.5s"), 0);
	assert_true(options.alone);
	assert_true(options.takeover == 1.5);
	assert_int_equal(resolve(&config, "fetch_depth=16"), 0);
	assert_false(options.depth_auto);
	assert_int_equal(resolve(&config, "alone=load,alone=fail"), 0);
	assert_false(options.alone);
}

TEST(of_a_key_that_comes_twice_the_last_one_counts)
{
	const struct dsa_config config = {.dataset = "images", .cache_size = "1G"};

	assert_int_equal(resolve(&config, "cache=minio,cache_size=50%,cache=none"), 0);
	assert_string_equal(options.cache, "none");
	assert_true(options.cache_share == 0 && options.cache_bytes == 0);
	assert_int_equal(resolve(&config, "cache=lru,cache_size=50%,cache_size=2G"), 0);
	assert_true(options.cache_share == 0 && options.cache_bytes == 2000000000);
	assert_int_equal(resolve(&config, "cache=lru,cache_size=0%"), 0);
	assert_true(options.cache_share == 0 && options.cache_bytes == 0);
	assert_int_equal(resolve(&config,
				 "storage_bandwidth=1M,storage_latency=5ms,cache=none,"
				 "storage_bandwidth=0,storage_latency=0s,cache=page"),
			 0);
	assert_true(options.storage_bandwidth == 0 && options.storage_latency == 0);
	assert_string_equal(options.cache, "page");
	assert_int_equal(
		resolve(&config, "storage_bandwidth=0,storage_bandwidth=5MB/s"), 0);
	assert_true(options.storage_bandwidth == 5e6);
	assert_int_equal(resolve(&config, "gpu_speed=2,gpu_speed=0.5"), 0);
	assert_true(options.gpu_speed == .5);
	assert_int_equal(resolve(&config, NULL), 0);
	assert_true(options.gpu_speed == 1);
}

TEST(what_is_wrong_is_named_with_what_it_may_be)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"batch=0", "batch is 1 to 65536, not '0'"},
		{"batch=-1", "not '-1'"},
		{"bach=3", "no key 'bach'"},
		{"batch", "'batch' is no key=value"},
		{"cache_size=101%", "0% to 100%"},
		{"dataset=a%zz", "two hex digits"},
		{"on_error=explode", "skip or fail"},
		{"prep_delay=3", NULL},
		{"prep_delay=3parsec", "a time up to 1h such as 2ms"},
		{"prep_delay=2h", "a time up to 1h"},
		{"storage_latency=2h", "a time up to 1h"},
		{"storage_bandwidth=5M/min", "bytes/s such as 500M"},
		{"gpu_speed=0", "from 0.001 to 1000, not '0'"},
		{"gpu_speed=1001", "not '1001'"},
		{"gpu_speed=nan", "not 'nan'"},
		{"gpu_speed=-1", "not '-1'"},
		{"steps=few", "a whole number, or 0 for no limit, not 'few'"},
		{"alone=never", "load or fail, not 'never'"},
		{"takeover=10", NULL},
		{"takeover=soon", "a time such as 10s"},
	};
	const struct dsa_config config = {.dataset = "images"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int result = resolve(&config, wrong[i].text);

		assert_int_equal(result, wrong[i].says == NULL ? 0 : -EINVAL);
		if (wrong[i].says != NULL)
			assert_non_null(strstr(err.message, wrong[i].says));
	}
}

TEST(a_rank_outside_the_world_and_no_data_set_are_refused)
{
	const struct dsa_config rank = {.dataset = "images", .rank = 2, .world = 2};
	const struct dsa_config none = {0};

	assert_int_equal(resolve(&rank, NULL), -EINVAL);
	assert_non_null(strstr(err.message, "rank is 0 to 1"));
	assert_int_equal(resolve(&none, NULL), -EINVAL);
	assert_non_null(strstr(err.message, "which data set"));
}
