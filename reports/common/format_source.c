/* format_source.c - in what order samples came; what servers were asked for, and what a
 * cache on disk had of it. */
#include "reports/common/format.h"
#include "reports/common/whatif_words.h"

#include <math.h>

#define DAY  86400.
#define DAYS (2 * DAY) /* told as days from here on */

static bool format_any(uint64_t count)
{
	return count != UNKNOWN && count > 0;
}

void format_features(FILE *out, const struct profile *profile)
{
	if (profile->features != NULL)
		fputs(profile->features, out);
}

void format_shuffle(FILE *out, const struct profile *profile)
{
	char run[FORMAT_SIZE], window[FORMAT_SIZE];

	if (profile->shuffle_run == UNKNOWN)
		return;
	fprintf(out,
		"in blocks: runs of %s in windows of %s; design effect %.2f: where "
		"data is sorted, a batch of %.0f tells as much as %.0f drawn uniformly",
		format_count(run, profile->shuffle_run),
		format_count(window, profile->shuffle_window),
		profile->shuffle_design_effect, (double)profile->batch,
		(double)profile->batch / profile->shuffle_design_effect);
}

/* One that was kept took requests as well: to see whether it may be used. */
static void format_listing(FILE *out, const struct profile_requests *requests)
{
	double age_s = requests->listing_age_s;
	char count[FORMAT_SIZE], age[FORMAT_SIZE];

	if (!format_any(requests->listing))
		return;
	format_count(count, requests->listing);
	if (!isfinite(age_s))
		fprintf(out, "; %s to list the data set", count);
	else if (age_s >= DAYS)
		fprintf(out,
			"; %s to see whether the listing made %.0f days before holds",
			count, age_s / DAY);
	else
		fprintf(out, "; %s to see whether the listing made %s before holds",
			count, format_budget(age, age_s));
}

void format_requests(FILE *out, const struct profile *profile)
{
	char text[FORMAT_SIZE];

	if (profile->requests.gets == UNKNOWN)
		return;
	fprintf(out, "%s GETs", format_count(text, profile->requests.gets));
	if (profile->fetch_depth_auto && profile->fetch_depth != UNKNOWN)
		fprintf(out, ", %s at once, chosen by how long they took",
			format_count(text, profile->fetch_depth));
	if (format_any(profile->requests.hedges))
		fprintf(out, ", %s asked twice as they were late",
			format_count(text, profile->requests.hedges));
	if (format_any(profile->requests.retries))
		fprintf(out, ", %s sent again",
			format_count(text, profile->requests.retries));
	if (format_any(profile->requests.lost))
		fprintf(out, ", %s samples lost",
			format_count(text, profile->requests.lost));
	format_listing(out, &profile->requests);
	if (format_any(profile->requests.bytes))
		fprintf(out, "; %s came",
			format_bytes(text, (double)profile->requests.bytes));
	if (isfinite(profile->requests.cost))
		fprintf(out, "; that costs %s %s",
			format_cost(text, profile->requests.cost),
			whatif_currency(profile));
}

void format_disk_cache(FILE *out, const struct profile *profile)
{
	bool full = format_any(profile->disk_cache.full);
	char text[FORMAT_SIZE];

	if (profile->disk_cache.hits == UNKNOWN)
		return;
	fprintf(out, "%s samples came from the cache on disk",
		format_count(text, profile->disk_cache.hits));
	if (format_any(profile->disk_cache.written))
		fprintf(out, ", %s were written to it",
			format_count(text, profile->disk_cache.written));
	if (format_any(profile->disk_cache.refused))
		fprintf(out, ", %s were not, as the disk is %s",
			format_count(text, profile->disk_cache.refused),
			full ? "full" : "slow");
	else if (full)
		fprintf(out, ", within what a full disk has room for");
	if (format_any(profile->disk_cache.stale))
		fprintf(out, "; %s had changed where they come from",
			format_count(text, profile->disk_cache.stale));
	if (format_any(profile->disk_cache.dropped))
		fprintf(out, "; %s torn or foreign files were removed",
			format_count(text, profile->disk_cache.dropped));
}
