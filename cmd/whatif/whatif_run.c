/* whatif_run.c - one answer of dsa whatif: model, predictions, trials. */
#include "cmd/whatif/whatif_run.h"
#include "cmd/common/cmd.h"
#include "cmd/common/price_list.h"
#include "cmd/common/progress.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "models/predict/cost.h"
#include "models/predict/model.h"
#include "models/whatif/advice.h"
#include "models/whatif/command.h"
#include "models/whatif/forecast.h"
#include "profiler/run/run_folder.h"
#include "reports/form.h"
#include "reports/terminal/terminal.h"
#include "reports/terminal/whatif_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Predictions while they are not the profile's. */
struct held {
	struct profile_prediction *predictions;
	size_t count;
};

/* What it takes to answer, and the answer. */
struct answer {
	const struct whatif_run *asked;
	struct profile profile;
	struct held other; /* the result's own, while the profile has the answer */
	struct sweep_list list;
	struct prices prices;
	struct model *model; /* NULL: the run can't be modelled */
	char folder[PATH_MAX];
};

static void whatif_run_exchange(struct answer *answer)
{
	struct profile *profile = &answer->profile;
	struct held other = answer->other;

	answer->other = (struct held){profile->predictions, profile->prediction_count};
	profile->predictions = other.predictions;
	profile->prediction_count = other.count;
}

static void whatif_run_end(struct answer *answer)
{
	model_free(answer->model);
	sweep_list_free(&answer->list);
	profile_drop_predictions(&answer->profile);
	whatif_run_exchange(answer);
	profile_free(&answer->profile);
}

/* ---- the answer ---- */

static int predict_list(struct answer *answer, struct error *err)
{
	struct progress progress;
	const struct forecast config = {
		.model = answer->model,
		.run = answer->asked->run,
		.progress = answer->asked->trials.quiet ? NULL : progress_show,
		.context = &progress,
	};
	int result;

	progress_begin(&progress, "changes predicted", answer->list.count);
	result = forecast(&config, &answer->list, &answer->profile, err);
	progress_clear();
	return result;
}

static int whatif_run_predict(struct answer *answer, struct error *err)
{
	struct profile *profile = &answer->profile;
	int result;

	if (answer->list.count > 0)
		return predict_list(answer, err);
	result = advise(profile, answer->model, answer->asked->run, err);
	if (result == 0 && profile->model.why != NULL)
		return error_set(err, ENODATA, "%s", profile->model.why);
	return result;
}

static int make_model(struct answer *answer, struct error *err)
{
	answer->model = model_new(&answer->profile, err);
	if (answer->model == NULL && err->code == EINVAL) /* no fault of a change */
		return error_within(err, -EIO, "this run can't be simulated");
	if (answer->model == NULL)
		return -err->code;
	if (answer->asked->prices != NULL)
		model_price(answer->model, &answer->prices);
	return model_note(answer->model, &answer->profile) < 0
		       ? error_sys(err, ENOMEM, "making a model of the run")
		       : 0;
}

static int whatif_run_find(struct answer *answer, struct error *err)
{
	bool measures = answer->asked->verify && answer->list.count > 0;
	int result;

	whatif_run_exchange(answer);
	result = make_model(answer, err);
	if (result == 0)
		result = whatif_run_predict(answer, err);
	verify_runs_prune(&answer->profile);
	if (result != -ENODATA || !measures)
		return result;
	/* What can't be predicted can be measured all the same. */
	cmd_warn("cannot predict", err->message);
	return answer->model != NULL ? 0 : predict_list(answer, err);
}

/* ---- the proof ---- */

/* The predictions that are to be tried: all that were asked for, or those advised that
 * can be tried here. Returns an array that shares their texts, NULL: no memory. */
static struct profile_prediction *whatif_run_choose(const struct answer *answer,
						    size_t *count)
{
	const struct profile *profile = &answer->profile;
	struct profile_prediction *chosen =
		calloc(profile->prediction_count + 1, sizeof(*chosen));
	bool asked = answer->list.count > 0;

	*count = 0;
	for (size_t i = 0; chosen != NULL && i < profile->prediction_count; i++) {
		const struct profile_prediction *prediction = &profile->predictions[i];

		if (asked ||
		    (prediction->rank != UNKNOWN &&
		     verify_runs_check(profile, &prediction->change, 1, NULL) == 0))
			chosen[(*count)++] = *prediction;
	}
	return chosen;
}

/* Beside the verifications, the file holds the advice. */
static int restore_advice(struct answer *answer, struct error *err)
{
	struct profile *profile = &answer->profile;

	whatif_run_exchange(answer);
	if (profile->prediction_count > 0 || answer->model == NULL)
		return 0;
	return advise(profile, answer->model, answer->asked->run, err);
}

static int try_chosen(struct answer *answer, const struct profile_prediction *chosen,
		      size_t count, size_t *from, struct error *err)
{
	struct verify_runs trials = answer->asked->trials;
	struct profile *profile = &answer->profile;
	bool asked = answer->list.count > 0;
	int result = asked ? restore_advice(answer, err) : 0;

	trials.folder = answer->folder;
	if (result == 0)
		result = verify_runs_run(&trials, profile, chosen, count, from, err);
	if (asked)
		whatif_run_exchange(answer);
	if (answer->asked->output == NULL && *from < profile->verification_count)
		run_folder_forget(answer->folder); /* run.json has it now */
	return result;
}

static int whatif_run_verify(struct answer *answer, size_t *from, struct error *err)
{
	struct profile_prediction *chosen;
	size_t count;
	int result = 0;

	chosen = whatif_run_choose(answer, &count);
	if (chosen == NULL)
		return error_sys(err, ENOMEM, "verifying");
	if (count == 0 && !answer->asked->trials.quiet)
		fputs("dsa: no advised change can be tried here\n", stderr);
	if (count > 0)
		result = try_chosen(answer, chosen, count, from, err);
	free(chosen);
	return result;
}

/* ---- the result ---- */

/* How to try what is advised, to be freed; NULL: nothing can be tried here. */
static char *whatif_run_next(const struct answer *answer)
{
	const struct profile_change none = PROFILE_NO_CHANGE;
	const struct profile *profile = &answer->profile;
	char *command = NULL;

	for (size_t i = 0; command == NULL && i < profile->prediction_count; i++)
		if (profile->predictions[i].rank != UNKNOWN &&
		    profile->predictions[i].command != NULL)
			command_verify(&none, answer->asked->run, &command);
	return command;
}

static int print_predictions(const struct answer *answer, struct error *err)
{
	struct form_style style = terminal_style(stdout);
	bool changes = answer->list.count > 0;
	char *next = changes || answer->asked->verify ? NULL : whatif_run_next(answer);
	int result;

	style.next = next;
	result = (changes ? whatif_print : whatif_print_advice)(&answer->profile,
								&style, stdout);
	free(next);
	fflush(stdout); /* before the program prints */
	return result < 0 ? error_sys(err, ENOMEM, "cannot print") : 0;
}

/* The predictions, unless they will stand beside what is measured. */
static int print_answer(const struct answer *answer, struct error *err)
{
	const struct whatif_run *asked = answer->asked;
	bool measured = asked->verify && answer->list.count > 0;

	return asked->json || asked->trials.quiet || measured
		       ? 0
		       : print_predictions(answer, err);
}

static int print_proof(const struct answer *answer, size_t from, struct error *err)
{
	const struct profile *profile = &answer->profile;
	struct form_style style = terminal_style(stdout);

	if (answer->asked->json)
		return form_find("json", err)->write(profile, &style, stdout, err);
	if (answer->asked->trials.quiet ||
	    whatif_print_verifications(profile, from, &style, stdout) == 0)
		return 0;
	return error_sys(err, ENOMEM, "cannot print");
}

static int whatif_run_conclude(struct answer *answer, struct error *err)
{
	size_t from = answer->profile.verification_count;
	int result = print_answer(answer, err), printed;

	if (result == 0 && answer->asked->verify)
		result = whatif_run_verify(answer, &from, err);
	else if (result == 0 && answer->asked->output != NULL)
		result = result_save(answer->folder, &answer->profile, err);
	printed = print_proof(answer, from, result == 0 ? err : NULL);
	return result < 0 ? result : printed;
}

/* Where it is written, if it is. */
static int whatif_run_place(struct answer *answer, struct error *err)
{
	const struct whatif_run *asked = answer->asked;
	int result = 0;

	if (asked->output != NULL)
		result = snprintf(answer->folder, PATH_MAX, "%s", asked->output) <
					 PATH_MAX
				 ? 0
				 : error_set(err, ENAMETOOLONG, "%s", asked->output);
	else if (asked->verify)
		result = result_where(asked->run, answer->folder, err);
	if (result == 0 && answer->folder[0] != '\0')
		result = result_folder(answer->folder, err);
	if (result == 0 && asked->output != NULL)
		result = result_replaces(answer->folder, err);
	return result;
}

static int whatif_run_price(struct answer *answer, struct error *err)
{
	int result = price_list_read(answer->asked->prices, &answer->prices, err);

	if (result == 0 && price_list_note(&answer->prices, &answer->profile) < 0)
		result = error_sys(err, ENOMEM, "reading prices");
	return result;
}

static int whatif_run_load(struct answer *answer, struct error *err)
{
	const struct whatif_run *asked = answer->asked;
	int result = result_load(asked->run, &answer->profile, err);

	return result < 0 || asked->prices == NULL ? result
						   : whatif_run_price(answer, err);
}

static int whatif_run_work(struct answer *answer, struct error *err)
{
	int result = sweep_changes(&answer->asked->sweep, &answer->profile,
				   &answer->list, err);

	if (result == 0 && answer->asked->verify)
		result = verify_runs_check(&answer->profile, answer->list.changes,
					   answer->list.count, err);
	if (result == 0)
		result = whatif_run_place(answer, err);
	if (result == 0)
		result = whatif_run_find(answer, err);
	return result < 0 ? result : whatif_run_conclude(answer, err);
}

int whatif_run_answer(const struct whatif_run *asked)
{
	struct answer answer = {.asked = asked};
	struct error err = {0};
	int result, status = 0;

	profile_init(&answer.profile);
	result = whatif_run_load(&answer, &err);
	if (result < 0)
		status = cmd_fail(&err);
	else if ((result = whatif_run_work(&answer, &err)) < 0)
		/* EINVAL: a change that makes no sense */
		status = (result == -EINVAL ? cmd_refuse : cmd_fail)(&err);
	whatif_run_end(&answer);
	return status;
}
