#include "loader/base/number.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

TEST(a_whole_number_has_only_digits)
{
	static const char *const bad[] = {"",   " 1",  "1 ",  "-1",
					  "+1", "0x1", "1.0", "1K"};
	uint64_t value = 77;

	assert_true(number_whole("0", 9, &value));
	assert_int_equal(value, 0);
	assert_true(number_whole("007", 9, &value));
	assert_int_equal(value, 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(number_whole(bad[i], 9, &value));
	assert_int_equal(value, 7);
}

TEST(a_whole_number_stays_in_its_bounds)
{
	uint64_t value;
	unsigned count;

	assert_true(number_whole("18446744073709551615", UINT64_MAX, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(number_whole("18446744073709551616", UINT64_MAX, &value));
	assert_false(number_whole("99999999999999999999999", UINT64_MAX, &value));
	assert_true(number_whole("1000", 1000, &value));
	assert_false(number_whole("1001", 1000, &value));
	assert_false(number_whole("5", 4, &value));
	assert_false(number_count("0", 4, &count));
	assert_true(number_count("4", 4, &count));
	assert_false(number_count("5", 4, &count));
}

static void assert_real(const char *text, double expected)
{
	double value = -1;

	assert_true(number_real(text, &value));
	assert_true(fabs(value - expected) <= 1e-12 * expected);
}

TEST(a_real_number_may_be_written_in_many_ways)
{
	static const char *const bad[] = {"",    ".",   "e5",  "1e",  "1e+",  "-1",
					  "nan", "inf", "0x1", "1,5", "1e999"};
	double value = 77;

	assert_real("12", 12);
	assert_real("0.5", .5);
	assert_real(".5", .5);
	assert_real("5.", 5);
	assert_real("1e3", 1000);
	assert_real("25E-1", 2.5);
	assert_real("1e+2", 100);
	assert_real("0", 0);
	assert_real("1e-999", 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(number_real(bad[i], &value));
	assert_true(value == 77);
}

/* 10^(number of digits) may be no double any more. */
TEST(very_many_digits_are_read_right)
{
	char text[512] = "0.0";

	for (size_t i = 3; i < 400; i++)
		text[i] = '8';
	assert_real(text, .8 / 9);
	text[0] = '8';
	for (size_t i = 1; i < 400; i++)
		text[i] = '0';
	text[400] = 'e';
	text[401] = '-';
	text[402] = '3';
	text[403] = '9';
	text[404] = '9';
	assert_real(text, 8);
	assert_real("1234567890123456789e-318", 1.234567890123456789e-300);
}

TEST(a_size_has_a_unit)
{
	uint64_t bytes = 77;

	assert_true(number_size("110K", &bytes));
	assert_int_equal(bytes, 110000);
	assert_true(number_size("1.5G", &bytes));
	assert_int_equal(bytes, 1500000000);
	assert_true(number_size("64Mi", &bytes));
	assert_int_equal(bytes, 64 << 20);
	assert_true(number_size("2KiB", &bytes));
	assert_int_equal(bytes, 2048);
	assert_true(number_size("4096", &bytes));
	assert_int_equal(bytes, 4096);
	assert_false(number_size("1X", &bytes));
	assert_false(number_size("1k", &bytes));
	assert_false(number_size("1 K", &bytes));
	assert_false(number_size("5e18", &bytes));
	assert_false(number_size("9999999999T", &bytes));
	assert_int_equal(bytes, 4096);
}

TEST(a_time_is_in_seconds)
{
	double seconds = 77;

	assert_true(number_time("20ms", &seconds));
	assert_float_equal(seconds, .02, 1e-9);
	assert_true(number_time("300us", &seconds));
	assert_float_equal(seconds, 3e-4, 1e-9);
	assert_true(number_time("1.5s", &seconds));
	assert_float_equal(seconds, 1.5, 1e-9);
	assert_true(number_time("60", &seconds));
	assert_float_equal(seconds, 60, 1e-9);
	assert_true(number_time("5m", &seconds));
	assert_float_equal(seconds, 300, 1e-9);
	assert_false(number_time("5 m", &seconds));
	assert_false(number_time("5M", &seconds));
	assert_false(number_time("-5m", &seconds));
	assert_float_equal(seconds, 300, 1e-9);
}

TEST(a_share_is_at_most_the_whole)
{
	double share = 77;

	assert_true(number_percent("35%", &share));
	assert_float_equal(share, .35, 1e-9);
	assert_true(number_percent("0%", &share));
	assert_true(share == 0);
	assert_true(number_percent("100%", &share));
	assert_float_equal(share, 1, 1e-9);
	assert_false(number_percent("100.1%", &share));
	assert_false(number_percent("35", &share));
	assert_false(number_percent("%", &share));
	assert_float_equal(share, 1, 1e-9);
}
