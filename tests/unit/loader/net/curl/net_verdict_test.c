/* net_verdict_test.c - what becomes of a try that has ended. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/net/curl/net_verdict.h"
#include "loader/net/curl/transfer.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static int verdict(long status)
{
	bool again;
	int result;

	transfer.status = status;
	result = verdict_of(&transfer, &again);
	assert_int_equal(again, result == -EAGAIN);
	return result;
}

TEST_WITH(what_a_server_says_for_now_is_tried_again, begin, NULL)
{
	static const long now[] = {408, 429, 500, 502, 503, 504};
	static const long always[] = {400, 401, 403, 404, 412, 501};

	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(verdict(now[i]), -EAGAIN);
		assert_int_not_equal(verdict(always[i]), -EAGAIN);
		assert_true(verdict(always[i]) < 0);
	}
}

TEST_WITH(a_part_that_came_is_as_long_as_the_server_says, begin, NULL)
{
	get.part = true;
	get.room = 8;
	get.from = transfer.first = 3;
	get.got = 4;
	transfer.ranged = true;
	transfer.last = 6;
	assert_int_equal(verdict(206), 0);
	transfer.last = 10;
	assert_int_equal(verdict(206), -EAGAIN);
}

TEST_WITH(a_head_has_no_body, begin, NULL)
{
	get.exact = true;
	get.room = 8;
	assert_int_equal(verdict(200), -ESTALE);
	get.head = true;
	assert_int_equal(verdict(200), 0);
}

TEST_WITH(a_clock_that_is_off_is_told_with_its_side, begin, NULL)
{
	strcpy(transfer.problem, "<Code>RequestTimeTooSkewed</Code>");
	transfer.date = time(NULL) - 1200;
	assert_int_equal(verdict(403), -EKEYREJECTED);
	assert_non_null(strstr(get.error.message, "20 min ahead of the server's"));
	transfer.date = time(NULL) + 1200;
	assert_int_equal(verdict(403), -EKEYREJECTED);
	assert_non_null(strstr(get.error.message, "20 min behind the server's"));
}

/* With libcurl's result: whether it is worth another try. */
static bool again_after(CURLcode result)
{
	bool again;

	transfer.result = result;
	assert_true(verdict_of(&transfer, &again) < 0);
	return again;
}

TEST_WITH(a_try_cut_short_by_the_deadline_leaves_what_was_met_before, begin, NULL)
{
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
