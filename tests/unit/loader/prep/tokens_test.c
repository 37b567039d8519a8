/* tokens_test.c - a window of tokens becomes numbers of the type that was asked for. */
#include "loader/base/error.h"
#include "loader/prep.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LENGTH = 5, COUNT = LENGTH + 1 };

/* Low byte first, and at an odd address. */
static const unsigned char stored[] = {0xff, 1, 0,    0, 1, 0xff, 0xff, 0x34, 0x12,
				       5,    0, 6,    0, 7, 0,    0,    0,    0,
				       0,    0, 0x80, 9, 0, 0,    0,    0};

static struct prep_config tokens(enum prep_type type)
{
	struct prep_config config = prep_defaults;

	config.op = "tokens";
	config.length = LENGTH;
	config.type = type;
	return config;
}

static int widen(enum prep_type type, unsigned width, void *out, struct error *err)
{
	const struct prep_config config = tokens(type);
	struct prep *prep = prep_open(&config, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	int result;

	assert_int_equal(prep_sample_bytes(prep), COUNT * (type == PREP_I64 ? 8 : 4));
	result = prep_run(worker, stored + 1, (size_t)COUNT * width, 7, out, err);
	prep_worker_free(worker);
	prep_close(prep);
	return result;
}

TEST(tokens_of_16_bits_are_widened)
{
	static const int32_t want[COUNT] = {1, 256, 0xffff, 0x1234, 5, 6};
	int32_t narrow[COUNT];
	int64_t wide[COUNT];

	assert_int_equal(widen(PREP_I32, 2, narrow, NULL), 0);
	assert_int_equal(widen(PREP_I64, 2, wide, NULL), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(narrow[i], want[i]);
		assert_int_equal(wide[i], want[i]);
	}
}

TEST(tokens_of_32_bits_keep_all_of_them)
{
	int64_t wide[COUNT];

	assert_int_equal(widen(PREP_I64, 4, wide, NULL), 0);
	assert_int_equal(wide[0], 0x01000001);
	assert_int_equal(wide[4], INT64_C(0x80000000));
	assert_int_equal(wide[5], 9);
}

TEST(a_token_that_has_no_room_is_refused)
{
	struct error err = {0};
	int32_t narrow[COUNT];

	assert_int_equal(widen(PREP_I32, 4, narrow, &err), -EBADMSG);
	assert_string_equal(
		err.message,
		"a token above 2147483647 is no int32: are they of 16 bits? "
		"else ask for int64");
}

TEST(other_bytes_are_no_window)
{
	struct error err = {0};
	int64_t wide[COUNT];

	assert_int_equal(widen(PREP_I64, 3, wide, &err), -EBADMSG);
	assert_string_equal(err.message,
			    "18 bytes are no window of 6 tokens of 16 or 32 bits");
}

static void assert_refused(const struct prep_config *config, const char *why)
{
	struct error err = {0};

	assert_null(prep_open(config, &err));
	assert_string_equal(err.message, why);
}

TEST(what_tokens_cannot_be_is_refused)
{
	struct prep_config config = tokens(PREP_F32);

	assert_refused(&config, "tokens are int64 or int32, not float32");
	config = tokens(PREP_I64);
	config.length = 0;
	assert_refused(&config, "length is 1 to 1048576 tokens, not 0");
	config.length = 1048577;
	assert_refused(&config, "length is 1 to 1048576 tokens, not 1048577");
	config.length = 1;
	config.token_bits = 8;
	assert_refused(&config, "token_bits is 16 or 32, not 8");
}

TEST(a_window_is_told_in_words)
{
	struct prep_config config = tokens(PREP_I64);
	char text[PREP_OUTPUT];

	config.evaluate = true; /* which changes nothing of it */
	prep_output(&config, text);
	assert_string_equal(text, "int64 tokens 5");
	config.token_bits = 32;
	prep_output(&config, text);
	assert_string_equal(text, "int64 tokens 5 of 32 bits");
}
