/* model_server_test.c - predictions of runs whose samples servers have. */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "tests/lib/known_run.h"
#include "tests/lib/server_run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void server_expect(double most, const struct profile_change *change,
			  double truth)
{
	struct profile profile;
	struct profile_prediction *prediction;

	server_run_make(&profile, most);
	prediction = known_run_predict(&profile, change);
	assert_float_equal(prediction->per_s.value / truth, 1, .03);
	assert_true(prediction->per_s.low < truth && truth < prediction->per_s.high);
	profile_free(&profile);
}

static void requests_in_flight_follow_littles_law(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	for (unsigned q = 1; q <= 16; q *= 2) {
		change.fetch_depth = q;
		server_expect(INFINITY, &change, q / SERVER_ANSWER_S);
	}
	change.fetch_depth = 64;
	server_expect(INFINITY, &change, 1500);
}

static void and_give_no_more_than_servers_do(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.fetch_depth = 2;
	server_expect(400, &change, 100);
	change.fetch_depth = 32;
	server_expect(400, &change, 400);
	change.fetch_depth = 128;
	server_expect(400, &change, 400);
}

/* What is emulated counts where it is slower than the servers. */
static void changes_of_other_parts_are_predicted_too(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	(void)state;
	change.storage_latency_s = 2 * SERVER_ANSWER_S;
	server_expect(INFINITY, &change, 100);
	change.storage_latency_s = SERVER_ANSWER_S / 2;
	server_expect(INFINITY, &change, 200);
	change = PROFILE_NO_CHANGE;
	change.storage_bandwidth = 5e6;
	server_expect(INFINITY, &change, 50);
	change = PROFILE_NO_CHANGE;
	change.cache_share = .5;
	server_expect(INFINITY, &change, 400);
}

static int refused(struct profile *profile, unsigned depth, struct error *err)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction = profile_add_prediction(profile);
	struct model *model = model_new(profile, err);
	int result;

	assert_non_null(model);
	change.fetch_depth = depth;
	result = model_predict(model, &change, prediction, err);
	model_free(model);
	return result;
}

/* Only the run's depth was measured: fewer are not known, more are as far as that shows. */
static void fewer_than_were_measured_are_not_known(void **state)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct error err = {0};
	struct profile profile;

	(void)state;
	server_run_make(&profile, INFINITY);
	profile.fetch_curve[0] = profile.fetch_curve[1];
	profile.fetch_points = 1;
	assert_int_equal(refused(&profile, 2, &err), -ENODATA);
	assert_non_null(strstr(err.message, "one alone"));
	assert_int_equal(refused(&profile, 257, &err), -EINVAL);
	change.fetch_depth = 8;
	assert_float_equal(known_run_predict(&profile, &change)->per_s.value, 400, 12);
	profile_free(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_in_flight_follow_littles_law),
		cmocka_unit_test(and_give_no_more_than_servers_do),
		cmocka_unit_test(changes_of_other_parts_are_predicted_too),
		cmocka_unit_test(fewer_than_were_measured_are_not_known),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("model_server", tests, NULL, NULL);
}
