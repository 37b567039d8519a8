/* what_if.c - dsa whatif: what changes would bring, and whether they really do. */
#include "cmd/argument.h"
#include "cmd/changes.h"
#include "cmd/cmd.h"
#include "cmd/pricelist.h"
#include "cmd/progress.h"
#include "cmd/result.h"
#include "cmd/trials.h"
#include "loader/base/error.h"
#include "models/advice.h"
#include "models/cost.h"
#include "models/forecast.h"
#include "models/model.h"
#include "models/sweep.h"
#include "profiler/apply.h"
#include "profiler/measure.h"
#include "reports/escape.h"
#include "reports/form.h"
#include "reports/terminal.h"
#include "reports/whatif.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

struct whatif {
	struct sweep sweep;
	struct trials trials;
	const char *run, *output, *prices;
	bool verify, json, quiet;
};

/* Keys without a letter; changes.c has its own from 2000 on. */
enum { PRICES = 300, VERIFY, RESUME, BUDGET, PRECISION, JSON };

static const struct argp_option options[] = {
	{"prices", PRICES, "FILE", 0,
	 "What an epoch costs then, by that price list (see dsa-prices(5))", 6},
	{NULL, 0, NULL, 0, "The proof:", 6},
	{"verify", VERIFY, NULL, 0,
	 "Really run each change, or without one what is advised", 0},
	{"resume", RESUME, NULL, 0, "Leave out what the result has verified already",
	 0},
	{"budget", BUDGET, "TIME", 0, "Measure each for so long (default 20s)", 0},
	{"precision", PRECISION, "POINTS", 0,
	 "Stop when its rate is known to so many percent (default 1)", 0},
	{NULL, 0, NULL, 0, "The result:", 7},
	{"json", JSON, NULL, 0, "Print the result with these predictions", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Say how each change was measured", 0},
	{0},
};

static error_t parse_proof(int key, char *arg, struct argp_state *state)
{
	struct whatif *asked = state->input;

	switch (key) {
	case VERIFY:
		asked->verify = true;
		return 0;
	case RESUME:
		asked->trials.resume = asked->verify = true;
		return 0;
	case BUDGET:
		argument_time(state, "budget", arg, &asked->trials.budget_s);
		return 0;
	case PRECISION:
		argument_precision(state, arg, &asked->trials.precision);
		return 0;
	case 'v':
		asked->trials.verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct whatif *asked = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = asked;
		return 0;
	case PRICES:
		asked->prices = arg;
		return 0;
	case JSON:
		asked->json = true;
		return 0;
	case 'q':
		asked->quiet = asked->trials.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (asked->run != NULL)
			argp_error(state, "one RUN at a time");
		asked->run = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which RUN? (a run's folder or its run.json)");
		return 0;
	default:
		return parse_proof(key, arg, state);
	}
}

/* Options that mean something else in other commands. */
static const struct argp_option own_options[] = {
	{"output", 'o', "DIR", 0,
	 "Write the result with these predictions there; with --verify, instead of "
	 "where RUN is",
	 7},
	{0},
};

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
	struct whatif *asked = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &asked->sweep;
		return 0;
	case 'o':
		asked->output = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child own_children[] = {{&changes_argp, 0, NULL, 0}, {0}};
static const struct argp own = {
	.options = own_options, .parser = parse_own, .children = own_children};
static const struct argp_child children[] = {{&own, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "RUN",
	.doc = "Predict what changes would bring, from the result of one run.",
	.children = children,
};

/* Predictions while they are not the profile's. */
struct held {
	struct profile_prediction *predictions;
	size_t count;
};

/* One question, and what it takes to answer. */
struct question {
	const struct whatif *asked;
	struct profile profile;
	struct held other; /* the result's own, while the profile has the answer */
	struct sweep_list list;
	struct prices prices;
	struct model *model; /* NULL: the run can't be modelled */
	char folder[PATH_MAX];
};

static void exchange(struct question *question)
{
	struct profile *profile = &question->profile;
	struct held other = question->other;

	question->other =
		(struct held){profile->predictions, profile->prediction_count};
	profile->predictions = other.predictions;
	profile->prediction_count = other.count;
}

static void end(struct question *question)
{
	model_free(question->model);
	sweep_list_free(&question->list);
	profile_drop_predictions(&question->profile);
	exchange(question);
	profile_free(&question->profile);
}

static void warn(const char *what, const struct error *err)
{
	fprintf(stderr, "dsa: %s: ", what);
	escape_plain(stderr, err->message);
	putc('\n', stderr);
}

/* ---- the answer ---- */

static void tell(void *context, size_t done)
{
	progress_show(context, done);
}

static int predict_list(struct question *question, struct error *err)
{
	struct progress progress;
	const struct forecast config = {
		.model = question->model,
		.run = question->asked->run,
		.tell = question->asked->quiet ? NULL : tell,
		.context = &progress,
	};
	int result;

	progress_begin(&progress, "changes predicted", question->list.count);
	result = forecast(&config, &question->list, &question->profile, err);
	progress_end(&progress);
	return result;
}

static int predict(struct question *question, struct error *err)
{
	struct profile *profile = &question->profile;
	int result;

	if (question->list.count > 0)
		return predict_list(question, err);
	result = advise(profile, question->model, question->asked->run, err);
	if (result == 0 && profile->model.why != NULL)
		return error_set(err, ENODATA, "%s", profile->model.why);
	return result;
}

static int make_model(struct question *question, struct error *err)
{
	question->model = model_new(&question->profile, err);
	if (question->model == NULL && err->code == EINVAL) /* no fault of a change */
		return error_within(err, -EIO, "this run can't be simulated");
	if (question->model == NULL)
		return -err->code;
	if (question->asked->prices != NULL)
		model_price(question->model, &question->prices);
	return model_note(question->model, &question->profile) < 0
		       ? error_sys(err, ENOMEM, "making a model of the run")
		       : 0;
}

static int answer(struct question *question, struct error *err)
{
	bool measures = question->asked->verify && question->list.count > 0;
	int result;

	exchange(question);
	result = make_model(question, err);
	if (result == 0)
		result = predict(question, err);
	if (result != -ENODATA || !measures)
		return result;
	/* What can't be predicted can be measured all the same. */
	warn("cannot predict", err);
	return question->model != NULL ? 0 : predict_list(question, err);
}

/* ---- the proof ---- */

/* The predictions that are to be tried: all that were asked for, or those advised that
 * can be tried here. Returns an array that shares their texts, NULL: no memory. */
static struct profile_prediction *choose(const struct question *question, size_t *count)
{
	const struct profile *profile = &question->profile;
	struct profile_prediction *chosen =
		calloc(profile->prediction_count + 1, sizeof(*chosen));
	bool asked = question->list.count > 0;

	*count = 0;
	for (size_t i = 0; chosen != NULL && i < profile->prediction_count; i++) {
		const struct profile_prediction *prediction = &profile->predictions[i];

		if (asked || (prediction->rank != UNKNOWN &&
			      trials_check(profile, &prediction->change, 1, NULL) == 0))
			chosen[(*count)++] = *prediction;
	}
	return chosen;
}

/* What the file says beside the verifications is its advice. */
static int restore_advice(struct question *question, struct error *err)
{
	struct profile *profile = &question->profile;

	exchange(question);
	if (profile->prediction_count > 0 || question->model == NULL)
		return 0;
	return advise(profile, question->model, question->asked->run, err);
}

static int try_chosen(struct question *question,
		      const struct profile_prediction *chosen, size_t count,
		      size_t *from, struct error *err)
{
	struct trials trials = question->asked->trials;
	struct profile *profile = &question->profile;
	bool asked = question->list.count > 0;
	int result = asked ? restore_advice(question, err) : 0;

	trials.folder = question->folder;
	if (result == 0)
		result = trials_run(&trials, profile, chosen, count, from, err);
	if (asked)
		exchange(question);
	if (question->asked->output == NULL && *from < profile->verification_count)
		measure_forget(question->folder); /* run.json has it now */
	return result;
}

static int verify(struct question *question, size_t *from, struct error *err)
{
	struct profile_prediction *chosen;
	size_t count;
	int result = 0;

	chosen = choose(question, &count);
	if (chosen == NULL)
		return error_sys(err, ENOMEM, "verifying");
	if (count == 0 && !question->asked->quiet)
		fputs("dsa: nothing is advised that could be tried here\n", stderr);
	if (count > 0)
		result = try_chosen(question, chosen, count, from, err);
	free(chosen);
	return result;
}

/* ---- the command ---- */

/* The predictions, unless they will stand beside what is measured. */
static int print_answer(const struct question *question, struct error *err)
{
	const struct whatif *asked = question->asked;
	struct form_style style = terminal_style(stdout);
	bool changes = question->list.count > 0;

	if (asked->json || asked->quiet || (asked->verify && changes))
		return 0;
	if ((changes ? whatif_print : whatif_print_advice)(&question->profile, &style,
							   stdout) < 0)
		return error_sys(err, ENOMEM, "cannot print");
	fflush(stdout); /* before the program prints */
	return 0;
}

static int print_proof(const struct question *question, size_t from, struct error *err)
{
	const struct profile *profile = &question->profile;
	struct form_style style = terminal_style(stdout);

	if (question->asked->json)
		return form_find("json", err)->write(profile, &style, stdout, err);
	if (question->asked->quiet ||
	    whatif_print_verifications(profile, from, &style, stdout) == 0)
		return 0;
	return error_sys(err, ENOMEM, "cannot print");
}

static int conclude(struct question *question, struct error *err)
{
	size_t from = question->profile.verification_count;
	int result = print_answer(question, err), printed;

	if (result == 0 && question->asked->verify)
		result = verify(question, &from, err);
	else if (result == 0 && question->asked->output != NULL)
		result = result_save(question->folder, &question->profile, err);
	printed = print_proof(question, from, result == 0 ? err : NULL);
	return result < 0 ? result : printed;
}

/* Where it is written, if it is. */
static int place(struct question *question, struct error *err)
{
	const struct whatif *asked = question->asked;
	int result = 0;

	if (asked->output != NULL)
		result = snprintf(question->folder, PATH_MAX, "%s", asked->output) <
					 PATH_MAX
				 ? 0
				 : error_set(err, ENAMETOOLONG, "%s", asked->output);
	else if (asked->verify)
		result = result_where(asked->run, question->folder, err);
	if (result == 0 && question->folder[0] != '\0')
		result = result_folder(question->folder, err);
	return result;
}

static int load(struct question *question, struct error *err)
{
	const struct whatif *asked = question->asked;
	struct profile *profile = &question->profile;
	int result = result_load(asked->run, profile, err);

	if (result == 0 && asked->prices != NULL)
		result = pricelist_read(asked->prices, &question->prices, err);
	if (result == 0 && asked->prices != NULL &&
	    profile_text(&profile->currency, "%s", question->prices.currency) < 0)
		result = error_sys(err, ENOMEM, "reading prices");
	return result;
}

static int work(struct question *question, struct error *err)
{
	int result = sweep_changes(&question->asked->sweep, &question->profile,
				   &question->list, err);

	if (result == 0 && question->asked->verify)
		result = trials_check(&question->profile, question->list.changes,
				      question->list.count, err);
	if (result == 0)
		result = place(question, err);
	if (result == 0)
		result = answer(question, err);
	return result < 0 ? result : conclude(question, err);
}

static int whatif_main(int argc, char **argv)
{
	struct whatif asked = {.trials = {.budget_s = 20, .precision = .01}};
	struct question question = {.asked = &asked};
	struct error err = {0};
	int result, status = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &asked);
	profile_init(&question.profile);
	if (load(&question, &err) < 0) {
		status = cmd_fail(&err);
	} else {
		result = work(&question, &err);
		if (result < 0)
			status = cmd_fail(&err);
		if (result == -EINVAL) /* a change that makes no sense */
			status = 2;
	}
	end(&question);
	return status;
}

const struct command command_whatif = {
	.name = "whatif",
	.summary = "predict what changes would bring, and try them",
	.argp = &argp,
	.own = &own, /* a setting of dsa run is no question */
	.run = whatif_main,
};
