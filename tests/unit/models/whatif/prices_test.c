#include "loader/base/error.h"
#include "models/whatif/prices.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

TEST(a_list_is_read)
{
	static const char text[] = "# of a cloud\n"
				   "[a heading]\n"
				   "currency = EUR\n"
				   "date = 2026-11-20\n"
				   "core_hour = 0.0378\n"
				   "memory_gb_hour=0.00318\n"
				   "gpu_hour = 2\n"
				   "storage_gb_month = 0.023\r\n"
				   "request = 4e-7\n"
				   "listing = 5e-6\n"
				   "egress_gb = 0.09\n"
				   "accelerators = 0\n";
	struct prices prices;

	assert_int_equal(prices_read(text, &prices, NULL), 0);
	assert_string_equal(prices.currency, "EUR");
	assert_string_equal(prices.date, "2026-11-20");
	assert_true(prices.core_hour == .0378);
	assert_true(prices.memory_gb_hour == .00318);
	assert_true(prices.gpu_hour == 2);
	assert_true(prices.storage_gb_month == .023);
	assert_true(prices.request == 4e-7);
	assert_true(prices.listing == 5e-6);
	assert_true(prices.egress_gb == .09);
	assert_int_equal(prices.accelerators, 0);
}

TEST(what_is_not_told_is_unknown)
{
	struct prices prices;

	assert_int_equal(prices_read("currency=USD\ngpu_hour=0", &prices, NULL), 0);
	assert_true(isnan(prices.core_hour) && isnan(prices.memory_gb_hour));
	assert_true(isnan(prices.storage_gb_month) && isnan(prices.request));
	assert_true(prices.gpu_hour == 0);
	assert_int_equal(prices.accelerators, 1);
	assert_string_equal(prices.date, "");
}

TEST(what_is_no_list_is_said_in_a_line)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{"", "it holds no price"},
		{"currency = USD\n", "it holds no price"},
		{"gpu_hour = 1\n", "it names no currency"},
		{"\ngpu = 1\n", "line 2: unknown key 'gpu'; dsa-prices(5)"},
		{"a\033[2J = 1\n", "unknown key 'a\\x1b[2J'"},
		{"gpu_hour = -1\n",
		 "line 1: gpu_hour is a number, not negative, not '-1'"},
		{"gpu_hour = nan\n", "gpu_hour is a number"},
		{"gpu_hour = inf\n", "gpu_hour is a number"},
		{"gpu_hour = 1e999\n", "gpu_hour is a number"},
		{"gpu_hour = $2\n", "gpu_hour is a number"},
		{"gpu_hour =\n", "gpu_hour is a number"},
		{"gpu_hour = 1\ngpu_hour = 1\n", "line 2: gpu_hour is given twice"},
		{"currency = usd\n", "line 1: currency is three capital letters"},
		{"currency = USDT\n", "not 'USDT'"},
		{"currency = US\n", "not 'US'"},
		{"date = 2026-13-01\n", "line 1: date is a day"},
		{"date = 2026-11-00\n", "date is a day"},
		{"date = 2026-11-2x\n", "date is a day"},
		{"date = today\n", "date is a day"},
		{"date = 2026-11-20T\n", "date is a day"},
		{"accelerators = 1.5\n", "accelerators is a whole number"},
		{"accelerators = 4097\n", "accelerators is a whole number"},
		{"prices\n", "line 1 is neither [section] nor name = value"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct error err = {0};
		struct prices prices;
		int result = prices_read(table[i].text, &prices, &err);

		if (result >= 0 || strstr(err.message, table[i].says) == NULL)
			fail_msg("%zu: %d '%s'", i, result, err.message);
		assert_true(err.code == EINVAL || err.code == EBADMSG);
	}
}

static void read_file(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	fclose(file);
	text[length] = '\0';
}

/* What the examples say of themselves in words: whole machines of their parts. */
TEST(the_examples_make_their_machines)
{
	static const struct {
		const char *path;
		double cores, gib, an_hour;
	} machines[] = {
		{"examples/prices/aws-g5.ini", 4, 16, 1.006},
		{"examples/prices/aws-g5.ini", 32, 128, 2.448},
		{"examples/prices/google-a2.ini", 12, 85, 3.673},
		{"examples/prices/azure-nc-a100.ini", 24, 220, 3.673},
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		struct error err = {0};
		struct prices prices;
		double an_hour;
		char text[4096];

		read_file(machines[i].path, text, sizeof(text));
		if (prices_read(text, &prices, &err) < 0)
			fail_msg("%s: %s", machines[i].path, err.message);
		an_hour = machines[i].cores * prices.core_hour +
			  machines[i].gib * 1.073741824 * prices.memory_gb_hour +
			  prices.gpu_hour;
		if (fabs(an_hour / machines[i].an_hour - 1) > .001)
			fail_msg("%s: %g, not %g", machines[i].path, an_hour,
				 machines[i].an_hour);
		assert_true(prices.storage_gb_month > 0 && prices.request > 0);
		assert_string_not_equal(prices.date, "");
	}
}

TEST(memory_that_runs_out_is_said)
{
	struct error err = {0};
	struct prices prices;

	nomem_at(1);
	assert_int_equal(prices_read("currency=USD\ngpu_hour=0", &prices, &err),
			 -ENOMEM);
	nomem_at(0);
	assert_int_equal(err.code, ENOMEM);
}
