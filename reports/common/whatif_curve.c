/* whatif_curve.c - predicts curves over cores and cache sizes. */
#include "reports/common/whatif_curve.h"
#include "loader/base/error.h"
#include "models/predict/model.h"

#include <errno.h>

enum { CORES_POINTS = 16, CACHE_POINTS = 10 }; /* at most, but for the first */

/* What cannot be predicted from this run stays unknown. */
static int whatif_curve_add(const struct model *model,
			    const struct profile_change *change, struct profile *curve)
{
	struct profile_prediction *prediction = profile_add_prediction(curve);
	struct error err = {0};

	if (prediction == NULL ||
	    model_predict(model, change, prediction, &err) == -ENOMEM)
		return -ENOMEM;
	return 0;
}

static int add_cores(const struct model *model, uint64_t own, struct profile *curve)
{
	unsigned most =
		own < WHATIF_MOST_CORES / 2 ? 2 * (unsigned)own : WHATIF_MOST_CORES;
	unsigned last = 0, count;
	int result = 0;

	most = most < 8 ? 8 : most;
	count = most < CORES_POINTS ? most : CORES_POINTS;
	for (unsigned i = 0; result == 0 && i <= count; i++) {
		struct profile_change change = PROFILE_NO_CHANGE;

		change.cores = i == 0 ? 1 : most * i / count;
		if (change.cores > last)
			result = whatif_curve_add(model, &change, curve);
		last = change.cores;
	}
	return result;
}

static int whatif_curve_add_cache(const struct model *model,
				  struct whatif_curves *curves, bool same_policy)
{
	int result = 0;

	for (int i = 0; result == 0 && i <= CACHE_POINTS; i++) {
		struct profile_change change = PROFILE_NO_CHANGE;

		change.cache_share = i / (double)CACHE_POINTS;
		if (!same_policy)
			change.cache_policy = curves->policy;
		result = whatif_curve_add(model, &change, &curves->cache);
	}
	return result;
}

int whatif_curves_make(const struct profile *profile, struct whatif_curves *curves)
{
	bool same = profile_has_own_cache(profile);
	struct error err = {0};
	struct model *model;
	int result;

	profile_init(&curves->cores);
	profile_init(&curves->cache);
	curves->policy =
		same ? profile->cache : (struct profile_word){CACHE_MINIO, NULL};
	model = model_new(profile, &err);
	if (model == NULL)
		return err.code == ENOMEM ? -ENOMEM : 0;
	result = add_cores(model, profile->cores, &curves->cores);
	if (result == 0)
		result = whatif_curve_add_cache(model, curves, same);
	model_free(model);
	return result;
}

void whatif_curves_free(struct whatif_curves *curves)
{
	profile_free(&curves->cores);
	profile_free(&curves->cache);
}
