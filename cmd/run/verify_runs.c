/* verify_runs.c - measures changes, to verify their predictions. */
#include "cmd/run/verify_runs.h"
#include "cmd/common/cmd.h"
#include "cmd/common/result.h"
#include "cmd/run/verify_copy.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/permutation.h"
#include "loader/base/text/shell_word.h"
#include "models/predict/model.h"
#include "models/whatif/verify.h"
#include "profiler/run/apply.h"
#include "profiler/run/measure.h"
#include "reports/common/format.h"
#include "reports/common/whatif_words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_S 60.0 /* for the first batch, as of a run */
#define GRACE_S   10.0 /* to leave */

/* All that go on while they are tried. */
struct trying {
	const struct verify_runs *trials;
	struct profile *profile;
	const struct profile_prediction *predictions;
	uint32_t *order; /* of the predictions that are to be tried */
	size_t count, done, missing;
	struct interval drift; /* of the unchanged run, over the result's rate */
	struct model *now;     /* of the machine as it is; NULL: none can be made */
	struct verify_copies copies;
	unsigned cores;        /* here */
	char folder[PATH_MAX]; /* absolute: the program's own folder is entered */
	char lock[PATH_MAX + 16];
	uint64_t began; /* clock_now() */
	bool bounded;   /* it was told how many requests each may take */
};

int verify_runs_check(const struct profile *profile,
		      const struct profile_change *changes, size_t count,
		      struct error *err)
{
	unsigned cores = apply_cores();

	for (size_t i = 0; i < count; i++) {
		struct apply apply;
		int result = apply_change(profile, &changes[i], cores, &apply, err);

		apply_fini(&apply);
		if (result < 0)
			return result;
	}
	return 0;
}

void verify_runs_prune(struct profile *profile)
{
	unsigned cores = apply_cores();

	for (size_t i = 0; i < profile->prediction_count; i++) {
		struct profile_prediction *prediction = &profile->predictions[i];
		struct apply apply;

		if (apply_change(profile, &prediction->change, cores, &apply, NULL) ==
		    -ENOTSUP) {
			free(prediction->command);
			prediction->command = NULL;
		}
		apply_fini(&apply);
	}
}

/* ---- what is told meanwhile ---- */

/* Says which change comes now; what is left goes by the ones before, or the budget. */
static void verify_runs_announce(const struct trying *trying,
				 const struct profile_change *change)
{
	double each = trying->trials->budget_s, left;
	char words[WHATIF_WORDS];

	if (trying->trials->quiet)
		return;
	if (trying->done > 0)
		each = (double)(clock_now() - trying->began) * 1e-9 /
		       (double)(trying->done + 1); /* the unchanged run, too */
	left = each * (double)(trying->count - trying->done);
	fprintf(stderr, "dsa: %zu of %zu: %s; about %.0f %s left\n", trying->done + 1,
		trying->count, whatif_change_words(words, change),
		left < 90 ? left : left / 60, left < 90 ? "s" : "min");
}

/* Once: they differ in what they ask for, but not in how much they may. */
static void verify_runs_bounded(void *context, uint64_t gets, double bytes)
{
	struct trying *trying = context;
	char count[FORMAT_SIZE], size[FORMAT_SIZE];

	if (!trying->bounded && !trying->trials->quiet)
		fprintf(stderr,
			"dsa: each asks for %s objects at most, about %s "
			"(--max-requests)\n",
			format_count(count, gets), format_bytes(size, bytes));
	trying->bounded = true;
}

static void verify_runs_print(const struct profile_change *change, const char *text)
{
	char words[WHATIF_WORDS];

	cmd_warn(whatif_change_words(words, change), text);
}

/* ---- one of them ---- */

static int measure_change(struct trying *trying, const struct apply *apply,
			  struct measure_rate *rate, struct error *err)
{
	const struct profile *profile = trying->profile;
	enum preload_choice choice = trying->trials->choice;
	const struct measure_config config = {
		.startup =
			{
				.command = profile->command,
				.jobs = apply->jobs,
				.share = apply->share,
				.loader = apply->loader,
				.loaders = apply->loaders,
				.asked = apply->asked,
				.choice =
					choice != PRELOAD_AUTO ? choice : apply->choice,
				.own_epochs = apply->own_epochs,
				.cores = apply->cores,
				.output_aside = true,
			},
		.folder = trying->folder,
		.dataset = profile->dataset,
		.repeat = profile->repeat,
		.budget_s = trying->trials->budget_s,
		.precision = trying->trials->precision,
		.timeout_s = TIMEOUT_S,
		.grace_s = GRACE_S,
		.seed = profile->seed != UNKNOWN ? profile->seed : 0,
		.most_gets = trying->trials->most_gets,
		.bounded = verify_runs_bounded,
		.context = trying,
	};

	return measure_rate(&config, rate, err);
}

static int verify_runs_note(struct trying *trying,
			    const struct profile_prediction *prediction,
			    const struct measure_rate *rate, struct error *err)
{
	char when[CLOCK_UTC];
	struct verify_facts facts = {
		.predicted = prediction->per_s,
		.per_s = rate->per_s,
		.drift = trying->drift.value,
		.hit_ratio = rate->hit_ratio,
		.when = when,
		.why = rate->why,
	};
	int result = 0;

	clock_utc(when);
	if (trying->now != NULL)
		result = verify_predict(trying->now, prediction, &facts.predicted, err);
	if (result == 0)
		result = verify_note(trying->profile, prediction, &facts, err);
	if (result == 0)
		result = result_save(trying->folder, trying->profile, err);
	if (result == 0 && trying->trials->verbose)
		verify_runs_print(&prediction->change, rate->why);
	return result;
}

static int try_change(struct trying *trying, const struct profile_change *change,
		      struct measure_rate *rate, struct error *err)
{
	const struct profile *profile = trying->profile;
	struct apply apply;
	int result = apply_change(profile, change, trying->cores, &apply, err);

	*rate = (struct measure_rate){.hit_ratio = NAN};
	if (result == 0 && change->resize > 0)
		result = verify_copy_apply(&trying->copies, profile, change->resize,
					   &apply, err);
	if (result == 0)
		result = measure_change(trying, &apply, rate, err);
	apply_fini(&apply);
	return result;
}

static int try_one(struct trying *trying, const struct profile_prediction *prediction,
		   struct error *err)
{
	struct measure_rate rate;
	int result = try_change(trying, &prediction->change, &rate, err);

	return result < 0 ? result : verify_runs_note(trying, prediction, &rate, err);
}

/* True when another change may well be measured where this one was not. */
static bool goes_on(int result)
{
	return result == -ENODATA || result == -ETIMEDOUT;
}

/* The unchanged run, which shows how fast the machine is now. */
static int try_unchanged(struct trying *trying, struct error *err)
{
	const struct profile *profile = trying->profile;
	const struct profile_change none = PROFILE_NO_CHANGE;
	double then = profile->job_count > 1 ? profile->together.value
					     : profile->rates[TRACE_REAL].value;
	struct measure_rate rate;
	struct error why = {0};
	int result;

	if (!trying->trials->quiet)
		fputs("dsa: first the unchanged run, to see how fast the machine is "
		      "now\n",
		      stderr);
	result = try_change(trying, &none, &rate, &why);
	trying->drift = INTERVAL_UNKNOWN;
	if (goes_on(result))
		verify_runs_print(&none, why.message);
	else if (result < 0 && err != NULL)
		*err = why;
	if (result == 0 && then > 0)
		trying->drift = (struct interval){rate.per_s.value / then,
						  rate.per_s.low / then,
						  rate.per_s.high / then};
	return goes_on(result) ? 0 : result;
}

static int try_all(struct trying *trying, struct error *err)
{
	int first = trying->count > 0 ? try_unchanged(trying, err) : 0;

	if (first < 0)
		return first;
	trying->now = verify_model(trying->profile, trying->drift, NULL);
	for (trying->done = 0; trying->done < trying->count; trying->done++) {
		const struct profile_prediction *prediction =
			&trying->predictions[trying->order[trying->done]];
		struct error why = {0};
		int result;

		verify_runs_announce(trying, &prediction->change);
		result = try_one(trying, prediction, &why);
		if (result < 0 && !goes_on(result)) {
			if (err != NULL)
				*err = why;
			return result;
		}
		if (result < 0) {
			verify_runs_print(&prediction->change, why.message);
			trying->missing++;
		}
	}
	return 0;
}

/* ---- all ---- */

/* Those that are to be tried, in the order of their trial. */
static int verify_runs_draw_order(struct trying *trying, size_t count,
				  struct error *err)
{
	const struct profile *profile = trying->profile;
	uint32_t *order = calloc(count, sizeof(*order));

	if (order == NULL)
		return error_sys(err, ENOMEM, "trying changes");
	permutation_fill(order, (uint32_t)count, profile->seed, 0);
	for (size_t i = 0; i < count; i++)
		if (!trying->trials->resume ||
		    !verify_done(profile, &trying->predictions[order[i]].change))
			order[trying->count++] = order[i];
	trying->order = order;
	return 0;
}

/* A file of its own: the folder itself is locked by a shared loader that begins there. */
static int try_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), error = errno;
	struct stat at;

	if (fd < 0)
		return -error;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &at) == 0) {
		if (at.st_nlink > 0)
			return fd;
		errno = EAGAIN; /* the last one has just removed it */
	}
	error = errno;
	close(fd);
	return -error;
}

/* Two that write the same result would lose each other's. Returns a file descriptor. */
static int verify_runs_lock_folder(struct trying *trying, struct error *err)
{
	const char *folder = trying->trials->folder;
	int fd;

	if (realpath(folder, trying->folder) == NULL)
		return error_sys(err, errno, "cannot use the folder %s", folder);
	snprintf(trying->lock, sizeof(trying->lock), "%s/verify.lock", trying->folder);
	fd = try_lock(trying->lock);
	if (fd == -EWOULDBLOCK)
		return error_set(err, EBUSY, "another dsa is verifying into %s",
				 folder);
	return fd < 0 ? error_sys(err, -fd, "cannot use the folder %s", folder) : fd;
}

static void unlock_folder(const struct trying *trying, int lock)
{
	unlink(trying->lock);
	close(lock);
}

/* From the folder that the program ran in. */
static int try_there(struct trying *trying, struct error *err)
{
	const char *directory = trying->profile->directory;
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), result = 0;

	if (chdir(directory) < 0)
		result = error_sys(err, errno, "cannot enter %s, where the run was",
				   directory);
	if (result == 0)
		result = try_all(trying, err);
	verify_copies_remove(&trying->copies);
	if (here >= 0 && fchdir(here) == 0)
		close(here);
	return result;
}

/* Says what goes on from there: the folder that has what was measured. */
static int verify_runs_interrupted(const struct trying *trying, struct error *err)
{
	char folder[PATH_MAX], *words[] = {folder, NULL}, *again;
	size_t kept = trying->done - trying->missing;

	if (kept == 0)
		return error_set(err, EINTR,
				 "interrupted before any of the %zu was measured",
				 trying->count);
	snprintf(folder, sizeof(folder), "%s", trying->trials->folder);
	again = shell_words("dsa whatif", words);
	error_set(err, EINTR,
		  "interrupted: %zu of %zu measured and kept; the others: the same "
		  "changes with %s --resume",
		  kept, trying->count, again != NULL ? again : "dsa whatif");
	free(again);
	return -EINTR;
}

static int verify_runs_conclude(const struct trying *trying, int result,
				struct error *err)
{
	size_t left = trying->count - trying->done;

	if (result == -EINTR)
		return verify_runs_interrupted(trying, err);
	if (result < 0 && left < trying->count)
		return error_within(err, result, "%zu not measured", left);
	if (result == 0 && trying->missing > 0)
		return error_set(err, EAGAIN, "%zu of %zu could not be measured",
				 trying->missing, trying->count);
	return result;
}

/* Their newest ones, one for each, behind all others. */
static int verify_runs_sort(struct trying *trying, size_t count, size_t *from,
			    struct error *err)
{
	struct profile *profile = trying->profile;
	struct profile_change *changes = calloc(count, sizeof(*changes));

	if (changes == NULL)
		return error_sys(err, ENOMEM, "trying changes");
	for (size_t i = 0; i < count; i++)
		changes[i] = trying->predictions[i].change;
	*from = verify_sort(profile, changes, count);
	free(changes);
	return trying->done == trying->missing
		       ? 0
		       : result_save(trying->folder, profile, err);
}

int verify_runs_run(const struct verify_runs *trials, struct profile *profile,
		    const struct profile_prediction *predictions, size_t count,
		    size_t *from, struct error *err)
{
	struct trying trying = {
		.trials = trials,
		.profile = profile,
		.predictions = predictions,
		.cores = apply_cores(),
		.began = clock_now(),
	};
	int lock = verify_runs_lock_folder(&trying, err), result = lock < 0 ? lock : 0,
	    sorted;

	trying.copies =
		(struct verify_copies){.folder = trying.folder, .quiet = trials->quiet};
	*from = profile->verification_count;
	if (lock < 0)
		return result;
	if (count == 0) {
		unlock_folder(&trying, lock);
		return 0;
	}
	unsetenv("DSA_LOADER"); /* the run's own is in its result */
	unsetenv("DSA_SHARE");  /* a run has none */
	result = verify_runs_draw_order(&trying, count, err);
	if (result == 0) {
		result = verify_runs_conclude(&trying, try_there(&trying, err), err);
		sorted = verify_runs_sort(&trying, count, from,
					  result == 0 ? err : NULL);
		result = result == 0 ? sorted : result;
	}
	free(trying.order);
	model_free(trying.now);
	unlock_folder(&trying, lock);
	return result;
}
