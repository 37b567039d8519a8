/* recipes_test.c - what other inputs do to prep and to bytes. */
#include "loader/base/error.h"
#include "models/predict/recipes.h"
#include "profiler/profile_prediction.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static struct profile profile;

static void add(unsigned resize, bool decoded, int type, double prep, double bytes)
{
	struct profile_recipe *recipe = profile_add_recipe(&profile);

	assert_non_null(recipe);
	recipe->change.resize = resize;
	recipe->change.decoded = decoded;
	recipe->change.type.id = type;
	recipe->prep_ratio = (struct interval){prep, prep * .9, prep * 1.1};
	recipe->bytes_ratio = bytes;
}

static int setup(void **state)
{
	(void)state;
	profile_init(&profile);
	add(256, false, -1, .4, .3);
	add(384, false, -1, .8, .7);
	add(0, true, -1, .1, 5);
	add(256, true, -1, .05, 2);
	add(0, false, 2, .9, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(&profile);
	return 0;
}

static int effect_of(unsigned resize, bool decoded, int type,
		     struct recipe_effect *effect, struct error *err)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.resize = resize;
	change.decoded = decoded;
	change.type.id = type;
	return recipes_effect(&profile, &change, effect, err);
}

/* prep, half, bytes */
static void is(unsigned resize, bool decoded, int type, const double wanted[3])
{
	struct recipe_effect effect;

	assert_int_equal(effect_of(resize, decoded, type, &effect, NULL), 0);
	assert_true(fabs(effect.prep - wanted[0]) < 1e-12);
	assert_true(fabs(effect.half - wanted[1]) < 1e-9);
	assert_true(fabs(effect.bytes - wanted[2]) < 1e-12);
}

/* As before, or as many times as there are bytes. */
TEST_WITH(a_read_costs_between_the_same_and_by_bytes, setup, teardown)
{
	struct recipe_effect effect;

	assert_int_equal(effect_of(256, false, -1, &effect, NULL), 0);
	assert_true(fabs(effect.fetch * (1 + effect.fetch_half) - 1) < 1e-12);
	assert_true(fabs(effect.fetch / (1 + effect.fetch_half) - .3) < 1e-12);
	assert_int_equal(effect_of(0, true, -1, &effect, NULL), 0);
	assert_true(fabs(effect.fetch * (1 + effect.fetch_half) - 5) < 1e-12);
	assert_true(fabs(effect.fetch / (1 + effect.fetch_half) - 1) < 1e-12);
	assert_int_equal(effect_of(0, false, 2, &effect, NULL), 0);
	assert_true(effect.fetch == 1 && effect.fetch_half == 0);
}

TEST_WITH(what_was_measured_is_found, setup, teardown)
{
	is(0, false, -1, (const double[]){1, 0, 1});
	is(256, false, -1, (const double[]){.4, .1, .3});
	is(0, true, -1, (const double[]){.1, .1, 5});
	is(256, true, -1, (const double[]){.05, .1, 2});
	is(0, false, 2, (const double[]){.9, .1, 1});
}

/* By pixels: 320 squared lies .45 of the way from 256 squared to 384 squared. */
TEST_WITH(between_sizes_it_goes_by_pixels, setup, teardown)
{
	double x = (320. * 320 - 256 * 256) / (384. * 384 - 256 * 256);

	is(320, false, -1, (const double[]){.4 + .4 * x, .1, .3 + .4 * x});
}

/* Narrower numbers save a tenth of the run's prep, of smaller pictures too. */
TEST_WITH(savings_of_types_are_added, setup, teardown)
{
	is(256, false, 2, (const double[]){.3, hypot(.04, .09) / .3, .3});
}

static void add_part(const char *name, double mean_s)
{
	struct profile_part *part = profile_add_part(&profile);

	assert_non_null(part);
	assert_int_equal(profile_text(&part->name, "%s", name), 0);
	part->mean_s = mean_s;
}

TEST_WITH(parts_are_left_out, setup, teardown)
{
	char crop[] = "Crop", handover[] = PROFILE_HANDOVER, all[] = "all of it";
	struct profile_change change = PROFILE_NO_CHANGE;
	struct recipe_effect effect;

	add_part("decode", .006);
	add_part(PROFILE_HANDOVER, .1);
	add_part("Crop", .002);
	change.without = crop;
	assert_true(recipes_asked(&change));
	assert_int_equal(recipes_effect(&profile, &change, &effect, NULL), 0);
	assert_true(fabs(effect.prep - .75) < 1e-12);
	assert_true(fabs(effect.half - .1 * .25 / .75) < 1e-12);
	assert_true(effect.bytes == 1 && effect.fetch == 1);
	change.without = handover;
	assert_int_equal(recipes_effect(&profile, &change, &effect, NULL), -ENODATA);
	add_part("all of it", 1e6);
	change.without = all;
	assert_int_equal(recipes_effect(&profile, &change, &effect, NULL), 0);
	assert_true(effect.prep == .01);
}

TEST_WITH(what_was_not_measured_is_refused, setup, teardown)
{
	static const struct {
		unsigned resize;
		bool decoded;
		int type;
		const char *why;
	} cases[] = {
		{128, false, -1, "prep of pictures of that size"},
		{512, false, -1, "prep of pictures of that size"},
		{300, true, -1, "prep of samples stored decoded"},
		{0, false, 1, "prep of float16 batches"},
	};
	struct recipe_effect effect;
	struct error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err = (struct error){0};
		assert_int_equal(effect_of(cases[i].resize, cases[i].decoded,
					   cases[i].type, &effect, &err),
				 -ENODATA);
		assert_non_null(strstr(err.message, cases[i].why));
	}
	profile.recipe_count = 0;
	assert_int_equal(effect_of(256, false, -1, &effect, &err), -ENODATA);
	assert_non_null(strstr(err.message, "where training waits for data"));
	profile.loader_kind.id = LOADER_TORCH;
	assert_int_equal(effect_of(256, false, -1, &effect, &err), -ENODATA);
	assert_non_null(strstr(err.message, "with libdsa's loader alone"));
}
