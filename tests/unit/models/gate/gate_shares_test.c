/* gate_shares_test.c - sessions with shares that no step can have. */
#include "loader/base/error.h"
#include "models/gate/gate_shares.h"
#include "tests/lib/sides.h"
#include "tests/lib/test.h"

#include <errno.h>

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

TEST_WITH(impossible_shares_are_refused, sides_setup, sides_teardown)
{
	struct error err = {0};

	assert_int_equal(moved(1, 8, .02, &err), -ERANGE);
	says(err.message, "2026-01-02T12:00:00Z prep_stall is 1");
	assert_int_equal(moved(.5, 8, .02, &err), -ERANGE);
	says(err.message, "2026-01-02T12:00:00Z fetch_stall is -");
}

TEST_WITH(what_noise_explains_is_not, sides_setup, sides_teardown)
{
	struct error err = {0};

	assert_int_equal(moved(0, 8, .02, &err), 0);
	assert_int_equal(moved(.13, 8, .005, &err), 0); /* 3 points below 0 */
	assert_int_equal(moved(.3, 8, .5, &err), 0);
	assert_int_equal(moved(1, 3, .02, &err), 0); /* too few to say */
	assert_int_equal(moved(1, 0, 0, &err), 0);
}
