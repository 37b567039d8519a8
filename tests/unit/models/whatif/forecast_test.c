#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/forecast.h"
#include "reports/json/json.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT "tests/fuzz/corpus/model/run" /* fetch-bound, storage throttled */

static struct profile profile;
static struct model *model;
static struct sweep_list list;
static struct error err;
static size_t told;

static int setup(void **state)
{
	(void)state;
	profile_init(&profile);
	assert_int_equal(json_result_load(KEPT, &profile, NULL), 0);
	model = model_new(&profile, NULL);
	assert_non_null(model);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sweep_list_free(&list);
	model_free(model);
	profile_free(&profile);
	return 0;
}

static void tell(void *context, size_t done)
{
	assert_ptr_equal(context, &told);
	assert_int_equal(done, ++told);
}

static int ask(const struct model *asked, const char *pair)
{
	const struct forecast config = {
		.model = asked, .run = "my out", .progress = tell, .context = &told};
	struct sweep sweep = {0};

	told = 0;
	err = (struct error){0};
	sweep_list_free(&list);
	assert_int_equal(sweep_set_pair(&sweep, pair, NULL), 0);
	assert_int_equal(sweep_changes(&sweep, &profile, &list, NULL), 0);
	return forecast(&config, &list, &profile, &err);
}

TEST_WITH(each_change_has_its_prediction, setup, teardown)
{
	assert_int_equal(ask(model, "cache=0%,50%,100%"), 0);
	assert_int_equal(profile.prediction_count, 3);
	assert_int_equal(told, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct profile_prediction *one = &profile.predictions[i];

		assert_true(profile_change_equal(&one->change, &list.changes[i]));
		assert_true(one->per_s.low < one->per_s.value &&
			    one->per_s.value < one->per_s.high);
	}
	assert_true(profile.predictions[0].per_s.value <
		    profile.predictions[2].per_s.value);
	assert_string_equal(profile.predictions[1].command,
			    "dsa whatif 'my out' --cache 50% --verify");
	assert_int_equal(ask(model, "cores=1"), 0);
	assert_int_equal(profile.prediction_count, 1);
}

TEST_WITH(what_can_t_be_told_says_why, setup, teardown)
{
	assert_int_equal(ask(model, "storage-bandwidth=none,20M"), 0);
	assert_int_equal(profile.prediction_count, 2);
	assert_true(isnan(profile.predictions[0].per_s.value));
	assert_non_null(strstr(profile.predictions[0].why, "only slowed"));
	assert_true(profile.predictions[1].per_s.value > 0);
	assert_int_equal(ask(model, "storage-bandwidth=20M,none"), 0);
	assert_int_equal(ask(model, "storage-bandwidth=none"), -ENODATA);
	assert_non_null(strstr(err.message, "only slowed"));
	assert_int_equal(profile.prediction_count, 1);
}

TEST_WITH(without_a_model_nothing_is_made_up, setup, teardown)
{
	assert_int_equal(ask(NULL, "cores=1,2"), 0);
	assert_int_equal(profile.prediction_count, 2);
	assert_int_equal(profile.predictions[1].change.cores, 2);
	assert_true(isnan(profile.predictions[1].per_s.value) &&
		    isnan(profile.predictions[1].per_s.low));
}

TEST_WITH(memory_may_be_short, setup, teardown)
{
	const struct forecast config = {.run = "out"};
	int result = -ENOMEM;

	assert_int_equal(ask(NULL, "cache-policy=minio,lru"), 0);
	for (unsigned n = 1; result == -ENOMEM; n++) {
		nomem_at(n);
		result = forecast(&config, &list, &profile, &err);
		nomem_at(0);
		assert_true(n < 50);
	}
	assert_int_equal(result, 0);
}
