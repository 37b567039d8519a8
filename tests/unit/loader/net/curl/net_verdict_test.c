/* net_verdict_test.c - what becomes of a try that has ended. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/net/curl/net_verdict.h"
#include "loader/net/curl/transfer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static struct net_get get;
static struct transfer transfer;

static int begin(void **state)
{
	static char region[] = "us-east-1", who[] = "none: anonymous";
	static struct net_remote bucket = {
		.bucket = true, .credentials = who, .region = region};

	(void)state;
	get = (struct net_get){.remote = &bucket};
	transfer = (struct transfer){.get = &get};
	return 0;
}

/* With libcurl's result: whether it is worth another try. */
static bool again_after(CURLcode result)
{
	bool again;

	transfer.result = result;
	assert_true(verdict_of(&transfer, &again) < 0);
	return again;
}

static void a_try_cut_short_by_the_deadline_leaves_what_was_met_before(void **state)
{
	(void)state;
	error_set(&get.error, EAGAIN, "the server says 503");
	get.retries = 1;
	get.deadline = clock_now() + 2 * MS; /* so early may libcurl be */
	assert_true(again_after(CURLE_OPERATION_TIMEDOUT));
	assert_string_equal(get.error.message, "the server says 503");
	get.deadline = clock_now() + 600000 * MS; /* it hung */
	assert_true(again_after(CURLE_OPERATION_TIMEDOUT));
	assert_null(strstr(get.error.message, "503"));
	get.retries = 0; /* nothing was */
	get.deadline = 0;
	error_set(&get.error, EAGAIN, "%s", "");
	assert_true(again_after(CURLE_OPERATION_TIMEDOUT));
	assert_string_not_equal(get.error.message, "");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_try_cut_short_by_the_deadline_leaves_what_was_met_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
