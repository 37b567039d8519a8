/* format_program.c - what the program does beside its steps: reads, begins epochs, writes. */
#include "reports/common/format.h"

#define MUCH  .1  /* of what the loader reads, in calls or in bytes */
#define LEAST 10. /* calls a second: fewer take no time to speak of */

#define START_NOTICED .01 /* of an epoch */

enum { COSTLIEST = 3 }; /* parts */

/* What the loader read in real windows. */
struct loaded {
	double reads, bytes, samples;
};

static struct loaded format_program_loaded(const struct profile *profile)
{
	struct loaded loaded = {0};

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->kind.id != TRACE_REAL || window->samples == UNKNOWN ||
		    (!window->used && !profile_is_observed(profile)))
			continue;
		loaded.reads += (double)window->misses;
		loaded.bytes += (double)window->fetched_bytes;
		loaded.samples += (double)window->samples;
	}
	return loaded;
}

void format_program_reads(FILE *out, const struct profile *profile)
{
	struct loaded loaded = format_program_loaded(profile);
	double per_s = profile->rates[TRACE_REAL].value;
	double reads = profile->program_reads_per_sample;
	double bytes = profile->program_bytes_per_sample;
	char rate[FORMAT_SIZE], calls[FORMAT_SIZE];

	if (!(reads * per_s >= LEAST) ||
	    !(reads * loaded.samples > MUCH * loaded.reads ||
	      bytes * loaded.samples > MUCH * loaded.bytes))
		return;
	fprintf(out,
		"it reads %s/s itself, in %s calls/s beside the loader; what it waits "
		"for them counts as compute",
		format_bytes(rate, bytes * per_s), format_rate(calls, reads * per_s));
}

void format_parts(FILE *out, const struct profile *profile)
{
	char time[FORMAT_SIZE], percent[FORMAT_SIZE];
	double sum = 0;

	for (size_t i = 0; i < profile->part_count; i++)
		if (isfinite(profile->parts[i].mean_s))
			sum += profile->parts[i].mean_s;
	for (size_t i = 0; i < profile->part_count && i < COSTLIEST; i++) {
		const struct profile_part *part = &profile->parts[i];

		fprintf(out, "%s%.40s %s", i == 0 ? "" : ", ",
			part->name == NULL ? "?" : part->name,
			format_percent(percent, part->share));
	}
	if (profile->part_count > 0)
		fprintf(out, "%s of %s a sample",
			profile->part_count > COSTLIEST ? " ..." : "",
			format_seconds(time, sum));
}

void format_split(FILE *out, const struct profile *profile)
{
	if (profile->split_why != NULL)
		fputs(profile->split_why, out);
}

void format_epoch_starts(FILE *out, const struct profile *profile)
{
	double start = profile->epoch_start_s;
	double epoch =
		(double)profile->dataset_samples / profile->rates[TRACE_REAL].value;
	char took[FORMAT_SIZE], percent[FORMAT_SIZE];

	if (profile->dataset_samples == UNKNOWN || !(start > START_NOTICED * epoch))
		return;
	fprintf(out,
		"to begin one takes %s until its first batch comes, %s of an epoch; it "
		"is "
		"in no share",
		format_seconds(took, start),
		format_percent(percent, start / (start + epoch)));
}

void format_written(FILE *out, const struct profile *profile)
{
	char *const *files = profile->files_written;
	size_t count = 0;

	while (files != NULL && files[count] != NULL)
		count++;
	if (count > 0)
		fprintf(out, "%zu file%s while data was repeated: %s%s", count,
			count == 1 ? "" : "s", files[0], count > 1 ? " ..." : "");
}

void format_kept(FILE *out, const struct profile *profile)
{
	char count[FORMAT_SIZE];

	if (profile->files_lost != UNKNOWN && profile->files_lost > 0)
		fprintf(out, "%s overwritten file%s could not be kept%s",
			format_count(count, profile->files_lost),
			profile->files_lost == 1 ? "" : "s",
			profile->put_back == NULL ? "" : "; ");
	if (profile->put_back != NULL)
		fprintf(out, "%s overwritten file%s: sh %s puts all back",
			format_count(count, profile->files_kept),
			profile->files_kept == 1 ? "" : "s", profile->put_back);
}

void format_recipe(FILE *out, const struct profile *profile)
{
	const struct profile_own_recipe *recipe = &profile->own_recipe;

	if (recipe->lacks != NULL)
		fprintf(out, "libdsa does not do the same: it lacks %s", recipe->lacks);
	else if (recipe->code != NULL)
		fprintf(out, "libdsa has it: for images, labels in %s", recipe->code);
}
