/* verify.c - keeps what was measured beside what was predicted. */
#include "models/whatif/verify.h"
#include "loader/base/error.h"
#include "models/predict/drift.h"
#include "models/predict/model.h"

#include <errno.h>

struct model *verify_model(const struct profile *profile, struct interval drift,
			   struct error *err)
{
	struct model *now = model_new(profile, err);

	if (now == NULL || isnan(drift.value) || drift_follow(now, drift, err) == 0)
		return now;
	model_free(now);
	return NULL;
}

int verify_predict(const struct model *now, const struct profile_prediction *prediction,
		   struct interval *per_s, struct error *err)
{
	struct profile_prediction again = {.rank = UNKNOWN};
	int result = model_predict(now, &prediction->change, &again, err);

	*per_s = result == 0 ? again.per_s : prediction->per_s;
	profile_prediction_free(&again);
	return result == -ENODATA ? 0 : result;
}

/* 1: inside the interval that was predicted, bounds included; -1: there was none. */
static int is_covered(const struct interval *predicted, double measured)
{
	if (isnan(predicted->low) || isnan(predicted->high) || isnan(measured))
		return -1;
	return measured >= predicted->low && measured <= predicted->high;
}

/* The element is the profile's already: profile_free() ends what is half made. */
static int verify_fill(struct profile_verification *made,
		       const struct profile_prediction *prediction,
		       const struct verify_facts *facts)
{
	made->predicted = facts->predicted;
	made->drift = facts->drift;
	made->measured = facts->per_s;
	made->error = NAN;
	made->covered = -1;
	if (!profile_rate_is_vague(facts->per_s)) {
		made->error = made->predicted.value / facts->per_s.value - 1;
		made->covered = is_covered(&made->predicted, facts->per_s.value);
	}
	made->hit_ratio = facts->hit_ratio;
	made->hit_ratio_predicted = prediction->hit_ratio;
	if (profile_change_copy(&made->change, &prediction->change) < 0 ||
	    profile_text(&made->when, "%s", facts->when) < 0)
		return -ENOMEM;
	return profile_text(&made->why, "%s", facts->why);
}

int verify_note(struct profile *profile, const struct profile_prediction *prediction,
		const struct verify_facts *facts, struct error *err)
{
	struct profile_verification *made = profile_add_verification(profile);

	if (made == NULL || verify_fill(made, prediction, facts) < 0)
		return error_sys(err, ENOMEM, "keeping a verification");
	return 0;
}

/* Index of the newest one before `end`; `end` itself: there is none. */
static size_t verify_newest(const struct profile *profile, size_t end,
			    const struct profile_change *change)
{
	for (size_t i = end; i-- > 0;)
		if (profile_change_equal(&profile->verifications[i].change, change))
			return i;
	return end;
}

bool verify_done(const struct profile *profile, const struct profile_change *change)
{
	size_t count = profile->verification_count;

	return verify_newest(profile, count, change) < count;
}

/* Moves element `from` to `to`, behind it; those between move up. */
static void verify_move(struct profile_verification *all, size_t from, size_t to)
{
	struct profile_verification moved = all[from];

	for (size_t i = from; i < to; i++)
		all[i] = all[i + 1];
	all[to] = moved;
}

size_t verify_sort(struct profile *profile, const struct profile_change *changes,
		   size_t count)
{
	size_t first = profile->verification_count;

	/* The last change goes to the end, the one before it in front of that ... */
	while (count-- > 0) {
		size_t at = verify_newest(profile, first, &changes[count]);

		if (at < first)
			verify_move(profile->verifications, at, --first);
	}
	return first;
}
