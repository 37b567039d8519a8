/* format_program.c - what the program does beside its steps: reads, begins epochs, writes. */
#include "reports/common/format.h"

#include <inttypes.h>

#define MUCH  .1  /* of what the loader reads, in calls or in bytes */
#define LEAST 10. /* calls a second: fewer take no time to speak of */

#define START_NOTICED .01 /* of an epoch */
#define SEEN_ENOUGH   .95 /* of what a loader's processes read */

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

/* An epoch with its start and its end. */
static double format_epoch_whole(const struct profile *profile, double epoch)
{
	double end = profile->epoch_end_s;

	return epoch + profile->epoch_start_s + (isfinite(end) ? end : 0);
}

/* What took a part of an epoch, and what workers that persist would save. */
static void format_epoch_cost(FILE *out, const struct profile *profile, double epoch)
{
	double saved = profile->epoch_saved_s;
	char took[FORMAT_SIZE], percent[FORMAT_SIZE];

	fprintf(out, "each begins with %s until the first batch comes",
		format_seconds(took, profile->epoch_start_s));
	if (isfinite(profile->epoch_end_s))
		fprintf(out, ", and ends with %s until its workers are gone",
			format_seconds(took, profile->epoch_end_s));
	fprintf(out, ": %s of it, in no share",
		format_percent(percent,
			       1 - epoch / format_epoch_whole(profile, epoch)));
	if (saved > START_NOTICED * epoch)
		fprintf(out,
			"; persistent_workers=True would save %s an epoch, unless the "
			"program changes its data set between epochs",
			format_seconds(took, saved));
}

void format_epoch_starts(FILE *out, const struct profile *profile)
{
	double epoch = (double)profile->steps_per_epoch * (double)profile->batch /
		       profile->rates[TRACE_REAL].value;

	if (profile->steps_per_epoch != UNKNOWN && profile->batch != UNKNOWN &&
	    format_epoch_whole(profile, epoch) > (1 + START_NOTICED) * epoch)
		format_epoch_cost(out, profile, epoch);
}

/* ---- what was not seen ---- */

static void format_not_counted(FILE *out, const struct profile *profile)
{
	const char *word = "not";
	char count[FORMAT_SIZE];

	if (profile->mapped_files != UNKNOWN && profile->mapped_files > 0) {
		fprintf(out, "; %s what came of mapped files (%s were mapped)", word,
			format_count(count, profile->mapped_files));
		word = "nor";
	}
	if (profile->connections != UNKNOWN && profile->connections > 0) {
		fprintf(out, "; %s how long connections were waited for (%s batches)",
			word, format_count(count, profile->connections));
		word = "nor";
	}
	if (profile->unseen_processes != UNKNOWN && profile->unseen_processes > 0)
		fprintf(out, "; %s %s more processes, for which there was no room",
			word, format_count(count, profile->unseen_processes));
}

void format_seen(FILE *out, const struct profile *profile)
{
	char percent[FORMAT_SIZE];

	if (isnan(profile->coverage))
		return;
	fprintf(out, "%s of the bytes that the loader's processes read",
		format_percent(percent, profile->coverage));
	if (profile->coverage < SEEN_ENOUGH)
		fputs("; the rest came by calls that are not seen, such as raw "
		      "system calls, and counts as preparation",
		      out);
	format_not_counted(out, profile);
}

void format_unseen(FILE *out, const struct profile *profile)
{
	if (profile->coverage < SEEN_ENOUGH ||
	    (profile->unseen_processes != UNKNOWN && profile->unseen_processes > 0))
		format_seen(out, profile);
}

void format_written(FILE *out, const struct profile *profile)
{
	char *const *files = profile->files_written;
	uint64_t more = profile->files_written_more, named = 0, count;
	char text[FORMAT_SIZE];

	while (files != NULL && files[named] != NULL)
		named++;
	count = named + (more == UNKNOWN ? 0 : more);
	if (count > 0)
		fprintf(out, "%s file%s%s%s%s%s", format_count(text, count),
			count == 1 ? "" : "s",
			profile_is_observed(profile) ? "" : " while data was repeated",
			named > 0 ? ": " : "", named > 0 ? files[0] : "",
			named > 0 && count > 1 ? " ..." : "");
}

static void format_lost(FILE *out, const struct profile *profile)
{
	char *const *files = profile->lost_files;
	bool named = files != NULL && files[0] != NULL;
	char count[FORMAT_SIZE];

	fprintf(out, "%s overwritten file%s could not be kept%s%s%s",
		format_count(count, profile->files_lost),
		profile->files_lost == 1 ? "" : "s", named ? ": " : "",
		named ? files[0] : "", named && profile->files_lost > 1 ? " ..." : "");
}

void format_kept(FILE *out, const struct profile *profile)
{
	bool lost = profile->files_lost != UNKNOWN && profile->files_lost > 0;
	char count[FORMAT_SIZE];

	if (lost)
		format_lost(out, profile);
	if (lost && profile->put_back != NULL)
		fputs("; ", out);
	if (profile->put_back != NULL)
		fprintf(out, "%s file%s that it changed or removed: sh %s puts %s back",
			format_count(count, profile->files_kept),
			profile->files_kept == 1 ? "" : "s", profile->put_back,
			profile->files_kept == 1 ? "it" : "all");
}

/* How alike libdsa's pixels are; "" where none were compared. */
static const char *format_pixels(char words[96],
				 const struct profile_own_recipe *recipe)
{
	words[0] = '\0';
	if (!isnan(recipe->psnr))
		snprintf(words, 96,
			 "%s (PSNR %.1f dB in evaluation, %" PRIu64 " pictures)",
			 recipe->psnr < PROFILE_SAME_PSNR ? ", but its pixels differ"
							  : "",
			 recipe->psnr, recipe->pictures);
	return words;
}

void format_recipe(FILE *out, const struct profile *profile)
{
	const struct profile_own_recipe *recipe = &profile->own_recipe;
	char pixels[96];

	if (recipe->lacks != NULL)
		fprintf(out, "libdsa does not do the same: it lacks %s", recipe->lacks);
	else if (recipe->code != NULL)
		fprintf(out, "libdsa prepares the same%s: for images, labels in %s",
			format_pixels(pixels, recipe), recipe->code);
}
