/* jobs.c - commands, common rates and waits of jobs. */
#include "profiler/run/jobs.h"
#include "loader/base/io.h"
#include "loader/base/text/shell_word.h"
#include "profiler/analysis/shares.h"
#include "profiler/analysis/statistics.h"
#include "profiler/run/conductor/conductor.h"
#include "profiler/session/disturbance.h"
#include "profiler/session/epoch_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- commands ---- */

/* The word with {job} replaced. */
static char *jobs_replace(const char *word, unsigned job)
{
	static const char mark[] = "{job}";
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	const char *at;

	if (to == NULL)
		return NULL;
	while ((at = strstr(word, mark)) != NULL) {
		fprintf(to, "%.*s%u", (int)(at - word), word, job);
		word = at + sizeof(mark) - 1;
	}
	fputs(word, to);
	return io_text(to, &text);
}

char **jobs_command(char *const *command, unsigned job)
{
	char **words = profile_copy_texts(command);

	for (char **word = words; word != NULL && *word != NULL; word++) {
		char *numbered = jobs_replace(*word, job);

		if (numbered == NULL) {
			profile_free_texts(words);
			return NULL;
		}
		free(*word);
		*word = numbered;
	}
	return words;
}

char *jobs_text(char *const *command, unsigned job)
{
	char **words = jobs_command(command, job);
	char *text = words != NULL ? shell_words(NULL, words) : NULL;

	profile_free_texts(words);
	return text;
}

/* ---- all of them together ---- */

/* A block's real window of one job. */
struct cell {
	double seconds, samples, hit;
	unsigned part; /* of the epoch */
	bool drawn;
};

struct table {
	struct cell *cells; /* TRACE_WINDOWS a job */
	unsigned jobs;
	unsigned blocks[TRACE_WINDOWS]; /* those that all jobs have, */
	double weights[TRACE_WINDOWS];
	size_t count;
	struct epoch_parts parts; /* of these */
};

static struct cell *jobs_cell(const struct table *table, unsigned job, unsigned block)
{
	return &table->cells[(size_t)job * TRACE_WINDOWS + block];
}

struct sums {
	double prep_cpu_s, samples;
};

static void jobs_add_window(struct table *table, unsigned job,
			    const struct window *window, struct sums *sums)
{
	struct cell *to = jobs_cell(table, job, (unsigned)window->block);

	to->seconds += window->seconds;
	to->samples += window->samples;
	to->hit = window->hit;
	to->part = window->part;
	to->drawn |= (window->flags & TRACE_DRAW) != 0;
	/* Of a shared loader each job's session holds all of it. */
	if (job == 0 || !window->trace->loader.shared)
		sums->prep_cpu_s +=
			(double)window_counted(window->raw, TRACE_prep_cpu_ns) * 1e-9;
	sums->samples += (double)window->raw->samples;
}

static bool jobs_is_real(const struct window *window)
{
	return window->kind == TRACE_REAL && shares_uses(window);
}

/* 0 or -ENOMEM. */
static int jobs_add_job(struct table *table, unsigned job, const struct trace *trace,
			struct sums *sums)
{
	size_t count;
	struct window *windows = disturbance_windows(trace, &count);

	if (windows == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (jobs_is_real(&windows[i]))
			jobs_add_window(table, job, &windows[i], sums);
	free(windows);
	return 0;
}

/* The cell of a job whose hits are drawn, if there is one: the others' are of the same part
 * of the epoch. */
static const struct cell *jobs_drawn_cell(const struct table *table, unsigned block)
{
	unsigned job = 0;

	while (job + 1 < table->jobs && !jobs_cell(table, job, block)->drawn)
		job++;
	return jobs_cell(table, job, block);
}

/* Positions of the epoch weigh alike, however many samples a window got through, and
 * however many blocks there are of each. */
static void jobs_weigh_alike(struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct cell *drawn = jobs_drawn_cell(table, table->blocks[i]);

		table->weights[i] =
			drawn->drawn ? epoch_parts_weight(&table->parts, drawn->part)
				     : 1;
		for (unsigned job = 0; job < table->jobs; job++) {
			struct cell *cell = jobs_cell(table, job, table->blocks[i]);
			double scale = table->weights[i];

			if (cell->drawn)
				scale /= cell->samples;
			cell->seconds *= scale;
			cell->samples *= scale;
		}
	}
}

static void find_blocks(struct table *table)
{
	for (unsigned block = 0; block < TRACE_WINDOWS; block++) {
		const struct cell *drawn = jobs_drawn_cell(table, block);
		bool all = true;

		for (unsigned job = 0; job < table->jobs; job++)
			all &= jobs_cell(table, job, block)->samples > 0;
		if (!all)
			continue;
		table->blocks[table->count++] = block;
		table->parts.count[drawn->part] += drawn->drawn;
	}
	jobs_weigh_alike(table);
}

/* The jobs' rates added up, over all blocks but one. */
static double rate_without(const struct table *table, size_t without)
{
	double rate = 0;

	for (unsigned job = 0; job < table->jobs; job++) {
		double seconds = 0, samples = 0;

		for (size_t i = 0; i < table->count; i++) {
			if (i == without)
				continue;
			seconds += jobs_cell(table, job, table->blocks[i])->seconds;
			samples += jobs_cell(table, job, table->blocks[i])->samples;
		}
		rate += samples / seconds;
	}
	return rate;
}

static struct interval jobs_rate_of(const struct table *table)
{
	double without[TRACE_WINDOWS], full, floor;
	struct placed placed[TRACE_WINDOWS];

	if (table->count == 0)
		return INTERVAL_UNKNOWN;
	full = rate_without(table, SIZE_MAX);
	floor = full * SHARES_SETTLE;
	for (size_t i = 0; i < table->count; i++) {
		without[i] = rate_without(table, i);
		placed[i] = (struct placed){
			jobs_drawn_cell(table, table->blocks[i])->hit,
			table->weights[i] / (double)table->count, without[i]};
	}
	if (epoch_parts_whole(&table->parts))
		return statistics_ordered(full, placed, table->count, floor);
	return statistics_jackknife(full, without, table->count, floor);
}

int jobs_together(const struct trace *const *traces, unsigned count,
		  struct interval *per_s, double *prep_cpu_s)
{
	struct table table = {.jobs = count};
	struct sums sums = {0};
	int result = 0;

	table.cells = calloc((size_t)count * TRACE_WINDOWS, sizeof(*table.cells));
	if (table.cells == NULL)
		return -ENOMEM;
	for (unsigned job = 0; result == 0 && job < count; job++)
		result = jobs_add_job(&table, job, traces[job], &sums);
	find_blocks(&table);
	*per_s = statistics_within(jobs_rate_of(&table), 0, INFINITY);
	*prep_cpu_s = sums.samples > 0 ? sums.prep_cpu_s / sums.samples : NAN;
	free(table.cells);
	return result;
}

/* ---- one of them ---- */

/* Of the wall time of the windows of a kind that count. */
static double blocked_share(const struct profile *own, enum trace_kind kind)
{
	double blocked_s = 0, measured_s = 0;

	for (size_t i = 0; i < own->window_count; i++) {
		const struct profile_window *window = &own->windows[i];

		if (!window->used || window->kind.id != (int)kind ||
		    isnan(window->blocked_s))
			continue;
		blocked_s += window->blocked_s;
		measured_s += profile_measured_s(window);
	}
	return measured_s > 0 ? blocked_s / measured_s : NAN;
}

static int jobs_write_limit(struct profile_job *job, const struct profile *own)
{
	int limit = own->limit.id;

	return limit > STAGE_COMPUTE && limit < STAGES
		       ? profile_text(&job->waits_for, "%s", profile_limits[limit])
		       : 0;
}

static int jobs_write_why(struct profile_job *job, const struct conductor_job *ended)
{
	if (ended == NULL || ended->left[0] == '\0')
		return 0;
	return profile_text(&job->why, "it %s while the others went on", ended->left);
}

int jobs_add(struct profile *profile, unsigned number, const struct profile *own,
	     const struct conductor_job *ended)
{
	struct profile_job *job = profile_add_job(profile);

	if (job == NULL)
		return -ENOMEM;
	job->job = number;
	job->target_status = ended != NULL ? ended->target_status : -1;
	for (int i = 0; i < STAGES; i++) {
		job->rates[stage_table[i].kind] = own->rates[stage_table[i].kind];
		job->stalls[i] = own->stalls[i];
	}
	job->blocked_share = blocked_share(own, TRACE_REAL);
	if (own->command != NULL)
		job->command = jobs_text(own->command, number);
	if ((own->command != NULL && job->command == NULL) ||
	    jobs_write_limit(job, own) < 0 || jobs_write_why(job, ended) < 0)
		return -ENOMEM;
	return 0;
}

void jobs_add_requests(struct profile *profile, const struct profile *own)
{
	struct profile_requests *to = &profile->requests;
	const struct profile_requests *more = &own->requests;

	if (to->gets == UNKNOWN || more->gets == UNKNOWN)
		return;
	if (to->needed != UNKNOWN && to->gets > 0)
		to->needed += (uint64_t)((double)to->needed * (double)more->gets /
					 (double)to->gets);
	if (to->most != UNKNOWN)
		to->most += more->most;
	to->gets += more->gets;
	to->retries += more->retries;
	to->lost += more->lost;
	to->hedges += more->hedges;
	to->listing += more->listing;
	to->bytes += more->bytes;
}

/* ---- who waits for whom ---- */

#define NOTICED .02 /* of its time */

double jobs_held_up(const struct profile *own)
{
	return blocked_share(own, TRACE_SYNTHETIC);
}

static double jobs_ahead(const struct trace *trace)
{
	double ahead = 0, batches = 0;

	for (unsigned i = 0; i < window_count(trace); i++) {
		const struct trace_window *raw = &trace->windows[i];
		struct window window;

		window_measure(trace, i, &window);
		if (window.kind != TRACE_REAL || !shares_uses(&window))
			continue;
		ahead += (double)window_counted(raw, TRACE_ahead_samples);
		batches += (double)window_counted(raw, TRACE_delivered_batches);
	}
	return batches > 0 && trace->loader.batch > 0
		       ? ahead / batches / trace->loader.batch
		       : NAN;
}

void jobs_set_shared(struct profile_job *job, const struct trace *trace)
{
	const struct trace_process *driver = trace_driver(trace);

	job->ahead_batches = jobs_ahead(trace);
	job->dropped = driver != NULL && driver->counters[TRACE_went_alone] > 0;
}

int jobs_write_waits(struct profile *profile, const double *held_up)
{
	size_t pace = 0; /* the job that sets it */

	for (size_t i = 1; i < profile->job_count; i++)
		if (held_up[i] < held_up[pace] || isnan(held_up[pace]))
			pace = i;
	for (size_t i = 0; i < profile->job_count; i++) {
		struct profile_job *job = &profile->jobs[i];

		if (i == pace || !(held_up[i] > held_up[pace] + NOTICED))
			continue;
		if (profile_text(&job->waits_for, "job %zu", pace) < 0 ||
		    (job->why == NULL &&
		     profile_text(&job->why, "of its compute share %.0f%% is that wait",
				  100 * held_up[i]) < 0))
			return -ENOMEM;
	}
	return 0;
}
