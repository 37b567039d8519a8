/* gate_shares_test.c - sessions with shares that no step can have. */
#include "loader/base/error.h"
#include "models/gate/gate_shares.h"
#include "tests/lib/sides.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A session of `count` whose prep and fetch, .30 and .10, moved so far from each other. */
static int moved(double by, size_t count, double noise, struct error *err)
{
	struct gate_session *session;

	sides_again(&sides);
	sides_add_session(&sides, &sides.base, 8, 0, .01);
	sides_add_session(&sides, &sides.base, count, 0, noise);
	session = &sides.base.sessions[1];
	for (size_t i = 0; i < count; i++) {
		session->values[i][gate_metric_find("prep_stall")] += by;
		session->values[i][gate_metric_find("fetch_stall")] -= by;
	}
	return gate_shares_check(&sides.base, err);
}

static void impossible_shares_are_refused(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(moved(1, 8, .02, &err), -ERANGE);
	says(err.message, "2026-01-02T12:00:00Z prep_stall is 1");
	assert_int_equal(moved(.5, 8, .02, &err), -ERANGE);
	says(err.message, "2026-01-02T12:00:00Z fetch_stall is -");
}

static void what_noise_explains_is_not(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(moved(0, 8, .02, &err), 0);
	assert_int_equal(moved(.13, 8, .005, &err), 0); /* 3 points below 0 */
	assert_int_equal(moved(.3, 8, .5, &err), 0);
	assert_int_equal(moved(1, 3, .02, &err), 0); /* too few to say */
	assert_int_equal(moved(1, 0, 0, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SIDES(impossible_shares_are_refused),
		WITH_SIDES(what_noise_explains_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
