/* recipes.c - looks up what was measured, or goes between two of them. */
#include "models/predict/recipes.h"
#include "loader/base/error.h"
#include "loader/base/math/quadrature.h"
#include "profiler/profile_prediction.h"

#include <errno.h>

#define LEAST_PREP .01 /* of the run's */
#define PART_HALF  .1  /* of a part's time: it is measured in some batches */

/* How samples are stored, or delivered. */
static bool recipes_other_inputs(const struct profile_change *change)
{
	return change->resize > 0 || change->decoded ||
	       profile_word_known(&change->type);
}

bool recipes_asked(const struct profile_change *change)
{
	return recipes_other_inputs(change) || change->without != NULL;
}

static bool recipes_sound(const struct profile_recipe *recipe)
{
	return recipe->prep_ratio.value > 0 && recipe->bytes_ratio > 0 &&
	       isfinite(recipe->prep_ratio.value) && isfinite(recipe->bytes_ratio);
}

/* The nearest size that was measured, not above (below: not below) the one asked for;
 * NULL: there is none. */
static const struct profile_recipe *recipes_nearest(const struct profile *profile,
						    const struct profile_change *change,
						    bool above)
{
	const struct profile_recipe *nearest = NULL;

	for (size_t i = 0; i < profile->recipe_count; i++) {
		const struct profile_recipe *recipe = &profile->recipes[i];
		unsigned size = recipe->change.resize;

		if (!recipes_sound(recipe) ||
		    profile_word_known(&recipe->change.type) ||
		    recipe->change.decoded != change->decoded ||
		    (size == 0) != (change->resize == 0) ||
		    (above ? size < change->resize : size > change->resize))
			continue;
		if (nearest == NULL || (above ? size < nearest->change.resize
					      : size > nearest->change.resize))
			nearest = recipe;
	}
	return nearest;
}

static double recipes_half(struct interval ratio)
{
	double half = interval_half(ratio) / ratio.value;

	return isfinite(half) && half > 0 ? half : 0;
}

static double recipes_square(unsigned size)
{
	return (double)size * size;
}

/* How samples are stored. */
static int recipes_stored(const struct profile *profile,
			  const struct profile_change *change,
			  struct recipe_effect *effect, struct error *err)
{
	const struct profile_recipe *low = recipes_nearest(profile, change, false);
	const struct profile_recipe *high = recipes_nearest(profile, change, true);
	double x = 0, from;

	if (low == NULL || high == NULL)
		return error_set(err, ENODATA, "the run did not measure prep of %s",
				 change->decoded ? "samples stored decoded"
						 : "pictures of that size");
	from = recipes_square(low->change.resize);
	if (high != low)
		x = (recipes_square(change->resize) - from) /
		    (recipes_square(high->change.resize) - from);
	effect->prep = (1 - x) * low->prep_ratio.value + x * high->prep_ratio.value;
	effect->bytes = (1 - x) * low->bytes_ratio + x * high->bytes_ratio;
	effect->half = (1 - x) * recipes_half(low->prep_ratio) +
		       x * recipes_half(high->prep_ratio);
	return 0;
}

/* How they are delivered. */
static int recipes_delivered(const struct profile *profile,
			     const struct profile_change *change,
			     struct recipe_effect *effect, struct error *err)
{
	for (size_t i = 0; i < profile->recipe_count; i++) {
		const struct profile_recipe *recipe = &profile->recipes[i];
		double before = effect->prep;

		if (!recipes_sound(recipe) ||
		    !profile_word_equal(&recipe->change.type, &change->type))
			continue;
		effect->prep = fmax(LEAST_PREP, before + recipe->prep_ratio.value - 1);
		effect->half = quadrature(effect->half * before,
					  recipes_half(recipe->prep_ratio) *
						  recipe->prep_ratio.value) /
			       effect->prep;
		return 0;
	}
	return error_set(err, ENODATA, "the run did not measure prep of %s batches",
			 profile_word(profile_types, &change->type));
}

/* What a sample takes to make, s, but for its hand-over. */
static double recipes_made(const struct profile *profile)
{
	double sum = 0;

	for (size_t i = 0; i < profile->part_count; i++)
		if (profile_part_of(profile, profile->parts[i].name) ==
		    &profile->parts[i])
			sum += profile->parts[i].mean_s;
	return sum;
}

/* What prep is left out. */
static int recipes_left(const struct profile *profile,
			const struct profile_change *change,
			struct recipe_effect *effect, struct error *err)
{
	const struct profile_part *part = profile_part_of(profile, change->without);
	double all = recipes_made(profile), before = effect->prep;

	if (part == NULL || !(all > 0))
		return error_set(err, ENODATA,
				 "the run did not measure the part that is to go");
	effect->prep = fmax(LEAST_PREP, before - part->mean_s / all);
	effect->half =
		quadrature(effect->half * before, PART_HALF * part->mean_s / all) /
		effect->prep;
	return 0;
}

int recipes_effect(const struct profile *profile, const struct profile_change *change,
		   struct recipe_effect *effect, struct error *err)
{
	int result = 0;

	*effect = (struct recipe_effect){.prep = 1, .bytes = 1, .fetch = 1};
	if (recipes_other_inputs(change) && profile->recipe_count == 0)
		return error_set(
			err, ENODATA,
			"what prep of samples that are stored or delivered "
			"otherwise takes was not measured: dsa run does that %s",
			profile_loader(profile) == LOADER_DSA
				? "for pictures in local files, where training "
				  "waits for data"
				: "with libdsa's loader alone");
	if (change->resize > 0 || change->decoded)
		result = recipes_stored(profile, change, effect, err);
	if (result == 0 && profile_word_known(&change->type))
		result = recipes_delivered(profile, change, effect, err);
	if (result == 0 && change->without != NULL)
		result = recipes_left(profile, change, effect, err);
	effect->fetch = sqrt(effect->bytes);
	effect->fetch_half = fmax(effect->fetch, 1 / effect->fetch) - 1;
	return result;
}
