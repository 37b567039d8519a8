/* forecast.c - predicts each change of a list. */
#include "models/whatif/forecast.h"
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "models/whatif/command.h"

#include <errno.h>

/* The reason why there is no prediction, in its place. */
static int forecast_set_unknown(struct profile_prediction *made,
				const struct profile_change *change, const char *why,
				struct error *err)
{
	made->per_s = made->speedup = INTERVAL_UNKNOWN;
	if (profile_change_copy(&made->change, change) < 0 ||
	    (why != NULL && profile_text(&made->why, "%s", why) < 0))
		return error_sys(err, ENOMEM, "predicting");
	return 0;
}

/* One change. -ENODATA: the run does not show it, and the prediction says why. */
static int forecast_predict(struct profile_prediction *made, const struct model *model,
			    const struct profile_change *change, struct error *err)
{
	int result;

	if (model == NULL)
		return forecast_set_unknown(made, change, NULL, err);
	result = model_predict(model, change, made, err);
	if (result == -ENODATA &&
	    forecast_set_unknown(made, change, err->message, NULL) < 0)
		return error_sys(err, ENOMEM, "predicting");
	return result;
}

static int forecast_add(const struct forecast *forecast,
			const struct profile_change *change, struct profile *profile,
			struct error *err)
{
	struct profile_prediction *made = profile_add_prediction(profile);

	if (made == NULL || command_verify(change, forecast->run, &made->command) < 0)
		return error_sys(err, ENOMEM, "predicting");
	return forecast_predict(made, forecast->model, change, err);
}

int forecast(const struct forecast *forecast, const struct sweep_list *list,
	     struct profile *profile, struct error *err)
{
	struct error first = {0};
	size_t known = 0;
	int result = 0;

	profile_drop_predictions(profile);
	for (size_t i = 0; i < list->count; i++) {
		struct error why = {0};

		result = forecast_add(forecast, &list->changes[i], profile, &why);
		known += result == 0;
		if (result < 0 && (first.code == 0 || result != -ENODATA))
			first = why;
		if (result < 0 && result != -ENODATA)
			break;
		if (forecast->progress != NULL)
			forecast->progress(forecast->context, i + 1);
	}
	if (result == -ENODATA && known > 0)
		result = 0;
	if (result < 0 && err != NULL)
		*err = first;
	return result;
}
