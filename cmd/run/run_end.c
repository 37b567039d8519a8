/* run_end.c - predicts, keeps and prints what dsa run measured. */
#include "cmd/run/run_end.h"
#include "cmd/common/cmd.h"
#include "cmd/common/price_list.h"
#include "cmd/common/result.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/text/shell_word.h"
#include "models/predict/model.h"
#include "models/whatif/advice.h"
#include "models/whatif/forecast.h"
#include "profiler/analysis/analyse.h"
#include "profiler/run/run_folder.h"
#include "reports/common/file.h"
#include "reports/common/format.h"
#include "reports/form.h"
#include "reports/terminal/terminal.h"
#include "reports/terminal/whatif_table.h"
#include "reports/timeline.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the model ---- */

/* Puts the advice into the profile, or why there is none. NULL: there is no model. */
static struct model *run_end_predict(const struct run_end *end, struct profile *profile)
{
	struct error err = {0};
	struct model *model;

	if (end->prices != NULL && price_list_note(&end->list, profile) < 0)
		cmd_warn("prices", "memory is short");
	if (end->observed)
		return NULL;
	model = model_new(profile, &err);
	if (model != NULL && end->prices != NULL)
		model_price(model, &end->list);
	if (model == NULL || advise(profile, model, end->output, &err) < 0)
		profile_text(&profile->model.why, "%s", err.message);
	verify_runs_prune(profile);
	return model;
}

/* ---- the result ---- */

static void print_windows(const struct profile *profile)
{
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		fprintf(stderr, "%7.2f s %-9s", window->start_s,
			profile_word(profile_kinds, &window->kind));
		if (window->steps != UNKNOWN)
			fprintf(stderr, " %6.0f samples/s %5.2f s", window->per_s,
				window->length_s);
		fprintf(stderr, "  %s\n", window->why);
	}
}

/* "dsa whatif out", to be freed; NULL: nothing could be predicted. */
static char *run_end_next(const struct run_end *end, const struct profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *to;

	if (profile->prediction_count == 0)
		return NULL;
	to = open_memstream(&text, &size);
	if (to == NULL)
		return NULL;
	fputs("dsa whatif ", to);
	shell_word(to, end->output);
	return io_text(to, &text);
}

static int run_end_print(const struct run_end *end, const char *form,
			 const struct profile *profile, struct error *err)
{
	struct form_style style = terminal_style(stdout);
	char *next = run_end_next(end, profile);
	char report[PATH_MAX];
	int result;

	snprintf(report, sizeof(report), "%s/report.html", end->output);
	style.where = report;
	style.next = next;
	result = form_find(form, err)->write(profile, &style, stdout, err);
	free(next);
	return result;
}

/* Whether a server refused whoever asks, or was gone. */
static bool run_end_lost(const struct profile *profile)
{
	return profile->requests.lost != UNKNOWN && profile->requests.lost > 0;
}

static int run_end_status_of(const struct run_end *end, const struct profile *profile)
{
	char *why;

	if (end->target_status && profile->target_status >= 0)
		return profile->target_status;
	if (run_end_lost(profile)) {
		fprintf(stderr, "dsa: a server ended the data: %llu sample%s lost\n",
			(unsigned long long)profile->requests.lost,
			profile->requests.lost == 1 ? "" : "s");
		return 3;
	}
	if (analyse_complete(profile))
		return 0;
	why = end->json || end->trials.quiet ? format_string(format_ending, profile)
					     : NULL; /* else it has just been said */
	fprintf(stderr, "dsa: not all %s shares were measured%s%s\n",
		profile->device == NULL ? "three" : "four",
		why != NULL && *why != '\0' ? ": " : "", why != NULL ? why : "");
	free(why);
	return 3;
}

/* ---- the sweep ---- */

bool run_end_sweeps(const struct run_end *end)
{
	for (size_t i = 0; i < SWEEP_KEYS; i++)
		if (end->sweep.keys[i].count > 0)
			return true;
	return false;
}

/* What is not known before the run is taken as what suits most. */
int run_end_check(const struct run_end *end, struct error *err)
{
	static char nothing[] = "", root[] = "/", *command[] = {nothing, NULL};
	struct sweep_list list = {0};
	struct profile guess;
	int result;

	if (end->observed && run_end_sweeps(end))
		return error_set(err, EINVAL,
				 "--sweep changes the training, --observe does not: "
				 "give one of them");
	profile_init(&guess);
	guess.cache.id = CACHE_MINIO;
	guess.dataset_bytes = 1;
	guess.emulated_per_s = 1;
	guess.command = command;
	guess.directory = root;
	result = sweep_changes(&end->sweep, &guess, &list, err);
	if (result == 0)
		result = verify_runs_check(&guess, list.changes, list.count, err);
	sweep_list_free(&list);
	return result;
}

static int try_list(const struct run_end *end, struct profile *profile,
		    const struct model *model, const struct sweep_list *list,
		    struct error *err)
{
	const struct forecast config = {.model = model, .run = end->output};
	struct verify_runs trials = end->trials;
	struct form_style style = terminal_style(stdout);
	struct profile asked; /* its predictions */
	size_t from = 0;
	int result;

	trials.folder = end->output;
	profile_init(&asked);
	result = forecast(&config, list, &asked, err);
	if (result == 0 || result == -ENODATA)
		result = verify_runs_run(&trials, profile, asked.predictions,
					 asked.prediction_count, &from, err);
	profile_free(&asked);
	if (!end->json && !end->trials.quiet)
		whatif_print_verifications(profile, from, &style, stdout);
	return result;
}

static int try_sweep(const struct run_end *end, struct profile *profile,
		     const struct model *model, struct error *err)
{
	struct sweep_list list;
	int result;

	if (!analyse_complete(profile)) {
		fprintf(stderr,
			"dsa: nothing of --sweep was tried, as the run itself was "
			"not measured\n");
		return 0;
	}
	result = sweep_changes(&end->sweep, profile, &list, err);
	if (result == 0)
		result = verify_runs_check(profile, list.changes, list.count, err);
	if (result == 0 && !end->trials.quiet)
		fprintf(stderr, "dsa: measuring %zu change%s\n", list.count,
			list.count == 1 ? "" : "s");
	if (result == 0) {
		fflush(stdout);
		result = try_list(end, profile, model, &list, err);
	}
	sweep_list_free(&list);
	return result;
}

/* ---- all of it ---- */

static int run_end_timeline(const struct run_end *end, struct error *err)
{
	struct run_folder_sessions sessions;
	struct timeline timeline;
	int result = run_folder_map(end->output, &sessions, err);

	if (result < 0)
		return result;
	timeline =
		(struct timeline){sessions.traces, sessions.launches, sessions.count};
	result = file_save(end->timeline, timeline_write, &timeline, err);
	run_folder_unmap(&sessions);
	return result;
}

/* Keeps and shows the result; the sessions go only when it is safe. */
static int run_end_keep(const struct run_end *end, const struct profile *profile,
			struct error *err)
{
	int result = result_save(end->output, profile, err);
	bool saved = result == 0;

	if (saved && end->timeline != NULL)
		result = run_end_timeline(end, err);
	if (saved)
		run_folder_forget(end->output);
	if (end->trials.verbose)
		print_windows(profile);
	if (!end->json && !end->trials.quiet &&
	    run_end_print(end, "text", profile, result == 0 ? err : NULL) < 0)
		result = -EIO;
	return result;
}

static int end_run(const struct run_end *end, struct profile *profile,
		   const struct model *model)
{
	struct error err = {0};
	int result = run_end_keep(end, profile, &err), status = 3;

	if (result == 0) {
		status = run_end_status_of(end, profile);
		if (run_end_sweeps(end))
			result = try_sweep(end, profile, model, &err);
	}
	if (end->json &&
	    run_end_print(end, "json", profile, result == 0 ? &err : NULL) < 0)
		result = -EIO;
	return result < 0 ? cmd_fail(&err) : status;
}

int run_end(const struct run_end *end, struct profile *profile)
{
	struct model *model = run_end_predict(end, profile);
	int status = end_run(end, profile, model);

	model_free(model);
	return status;
}
