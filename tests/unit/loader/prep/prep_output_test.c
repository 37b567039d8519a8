#include "loader/prep.h"
#include "tests/lib/test.h"

#include <string.h>

static char text[PREP_OUTPUT];

static const char *output(const struct prep_config *config)
{
	prep_output(config, text);
	return text;
}

TEST(an_output_is_told_in_words)
{
	struct prep_config config = prep_defaults;

	assert_string_equal(output(&config), "float32 NCHW 224 ImageNet");
	config.layout = PREP_NHWC;
	config.type = PREP_U8;
	config.size = 64;
	assert_string_equal(output(&config), "uint8 NHWC 64");
	config.evaluate = true;
	assert_string_equal(output(&config), "centred uint8 NHWC 64");
	config.op = "raw";
	assert_string_equal(output(&config), "centred uint8 NHWC 64 raw");
	config.op = "decoded";
	assert_string_equal(output(&config), "decoded pictures");
	config = prep_defaults;
	config.op = "canvas"; /* the same numbers, made of a decoded picture */
	assert_string_equal(output(&config), "float32 NCHW 224 ImageNet");
	config = prep_defaults;
	config.type = PREP_F16;
	for (int i = 0; i < 3; i++)
		config.mean[i] = config.std[i] = .5f;
	assert_string_equal(output(&config),
			    "float16 NCHW 224 (x-0.5,0.5,0.5)/0.5,0.5,0.5");
}

TEST(long_numbers_are_told_apart_too)
{
	struct prep_config config = prep_defaults;
	char one[PREP_OUTPUT];

	config.mean[0] = .49139968f;
	config.std[2] = .26158784f;
	prep_output(&config, one);
	assert_true(strlen(one) < PREP_OUTPUT);
	assert_string_equal(output(&config), one);
	config.std[2] = .26158787f;
	assert_string_not_equal(output(&config), one);
	config.evaluate = true;
	config.size = 4096;
	assert_non_null(strchr(output(&config), '#'));
}
