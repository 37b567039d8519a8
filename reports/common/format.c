/* format.c - formats numbers, shares, and how a run was made. */
#include "reports/common/format.h"
#include "loader/base/io.h"
#include "profiler/profile.h"
#include "reports/common/escape.h"

#include <stdlib.h>

enum { MAX_SHARE = 100 }; /* beyond it, shares are no shares of anything */

static const char *format_unknown(char *to)
{
	snprintf(to, FORMAT_SIZE, "n/a");
	return to;
}

/* Three digits or so. */
static int format_decimals(double value)
{
	value = fabs(value);
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *format_rate(char *to, double per_s)
{
	if (!isfinite(per_s))
		return format_unknown(to);
	snprintf(to, FORMAT_SIZE, fabs(per_s) < 1e12 ? "%.*f" : "%.*e",
		 format_decimals(per_s), per_s);
	return to;
}

const char *format_range(char to[FORMAT_RANGE], const struct interval *interval,
			 const char *between)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];

	if (!isfinite(interval->low) || !isfinite(interval->high))
		return NULL;
	snprintf(to, FORMAT_RANGE, "%s %s %s", format_rate(low, fmax(0, interval->low)),
		 between, format_rate(high, fmax(0, interval->high)));
	return to;
}

const char *format_percent(char *to, double share)
{
	if (!isfinite(share))
		return format_unknown(to);
	return format_tenth(to, lround(fmax(-1e6, fmin(1e6, share)) * 1000));
}

const char *format_tenth(char *to, long tenth)
{
	snprintf(to, FORMAT_SIZE, "%s%ld.%ld%%", tenth < 0 ? "-" : "", labs(tenth) / 10,
		 labs(tenth) % 10);
	return to;
}

const char *format_points(char *to, const struct interval *interval)
{
	double half = 100 * interval_reach(*interval);

	to[0] = '\0';
	if (isfinite(half))
		snprintf(to, FORMAT_SIZE, fabs(half) < 1e4 ? "±%.1f" : "±%.0e", half);
	return to;
}

/* The largest unit of `units` that value reaches, each `step` above the one before. */
static const char *format_scaled(char *to, double value, double step,
				 const char *const *units)
{
	while (fabs(value) >= step * 0.9995 && units[1] != NULL) {
		value /= step;
		units++;
	}
	if (fabs(value) < 999.5)
		snprintf(to, FORMAT_SIZE, "%.3g %s", value, *units);
	else
		snprintf(to, FORMAT_SIZE, fabs(value) < 1e9 ? "%.0f %s" : "%.0e %s",
			 value, *units);
	return to;
}

const char *format_bytes(char *to, double bytes)
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", NULL};

	if (!isfinite(bytes))
		return format_unknown(to);
	if (fabs(bytes) < 1000) {
		snprintf(to, FORMAT_SIZE, "%.0f B", bytes);
		return to;
	}
	return format_scaled(to, bytes / 1000, 1000, units);
}

const char *format_seconds(char *to, double seconds)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};

	if (!isfinite(seconds))
		return format_unknown(to);
	return format_scaled(to, seconds * 1e9, 1000, units);
}

const char *format_budget(char *to, double seconds)
{
	if (!isfinite(seconds) || seconds > 1e6)
		return format_unknown(to);
	if (seconds <= 95)
		snprintf(to, FORMAT_SIZE, "%.0fs", 5 * ceil(seconds / 5));
	else if (seconds <= 5700)
		snprintf(to, FORMAT_SIZE, "%.0fm", ceil(seconds / 60));
	else
		snprintf(to, FORMAT_SIZE, "%.0fh", ceil(seconds / 3600));
	return to;
}

const char *format_cost(char *to, double cost)
{
	if (!isfinite(cost))
		return format_unknown(to);
	snprintf(to, FORMAT_SIZE,
		 fabs(cost) < 999.5  ? "%.3g"
		 : fabs(cost) < 1e12 ? "%.0f"
				     : "%.2e",
		 cost);
	return to;
}

const char *format_count(char *to, uint64_t count)
{
	char digits[24];
	size_t length, at = 0;

	if (count == UNKNOWN)
		return format_unknown(to);
	length = (size_t)snprintf(digits, sizeof(digits), "%llu",
				  (unsigned long long)count);
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = '\0';
	return to;
}

/* Moves tenths until they sum to 1000, each time the one that is furthest off. */
static void format_balance(const double *shares, int count, long *tenths)
{
	for (;;) {
		long sum = 0, step;
		int worst = 0;
		double most = -INFINITY;

		for (int i = 0; i < count; i++)
			sum += tenths[i];
		if (sum == 1000)
			return;
		step = sum < 1000 ? 1 : -1;
		for (int i = 0; i < count; i++) {
			double off =
				((shares[i] * 1000) - (double)tenths[i]) * (double)step;

			if (off > most) {
				most = off;
				worst = i;
			}
		}
		tenths[worst] += step;
	}
}

int format_tenths(const double *shares, int count, long *tenths)
{
	double sum = 0;
	bool sane = true;

	for (int i = 0; i < count; i++) {
		double share = isfinite(shares[i]) ? shares[i] : 0;

		sum += shares[i];
		sane = sane && fabs(share) < MAX_SHARE;
		tenths[i] = lround(fmax(-1e6, fmin(1e6, share)) * 1000);
	}
	if (!sane || !(fabs(sum - 1) < 1e-3))
		return 0;
	format_balance(shares, count, tenths);
	return 1;
}

double format_half(const struct profile *profile)
{
	double widest = NAN;

	for (int i = 0; i < STAGES; i++)
		widest = fmax(widest, interval_reach(profile->stalls[i]));
	return isfinite(widest) ? widest : NAN;
}

bool format_is_whole(const struct profile *profile)
{
	return isfinite(profile->stalls[STAGE_COMPUTE].value) &&
	       isnan(profile->stalls[STAGE_FETCH].value) &&
	       profile_word_known(&profile->split);
}

struct interval format_wait(const struct profile *profile)
{
	const struct interval *compute = &profile->stalls[STAGE_COMPUTE];

	return (struct interval){1 - compute->value, 1 - compute->high,
				 1 - compute->low};
}

int format_stalls(const struct interval *stalls, long tenths[STAGES])
{
	double shares[STAGES];

	for (int i = 0; i < STAGES; i++)
		shares[i] = isnan(stalls[i].value) && stage_table[i].optional
				    ? 0
				    : stalls[i].value;
	return format_tenths(shares, STAGES, tenths);
}

const char *format_stages(char to[FORMAT_STAGES], const struct profile *profile,
			  bool labels)
{
	size_t used = 0;

	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			used += (size_t)snprintf(to + used, FORMAT_STAGES - used,
						 "%s%s",
						 i == 0            ? ""
						 : i == STAGES - 1 ? " and "
								   : ", ",
						 i == 0   ? stage_table[i].name
						 : labels ? stage_table[i].label
							  : stage_table[i].key);
	return to;
}

char *format_string(format_words *words, const struct profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	words(out, profile);
	return io_text(out, &text);
}

void format_setup(FILE *out, const struct profile *profile)
{
	const char *cache = profile_word(profile_caches, &profile->cache);
	char size[FORMAT_SIZE];

	if (profile->world != UNKNOWN && profile_is_observed(profile))
		fprintf(out, "rank %llu of %llu · ", (unsigned long long)profile->rank,
			(unsigned long long)profile->world);
	else if (profile->world != UNKNOWN)
		fprintf(out, "each of %llu ranks · ",
			(unsigned long long)profile->world);
	if (profile_loader(profile) == LOADER_WATCH) {
		fputs("dsa.watch()", out);
		return;
	}
	if (profile->workers != UNKNOWN)
		fprintf(out, "%llu worker%s", (unsigned long long)profile->workers,
			profile->workers == 1 ? "" : "s");
	if (cache == NULL)
		return;
	if (profile->workers != UNKNOWN)
		fputs(" · ", out);
	escape_plain(out, profile->cache.id == CACHE_NONE ? "no" : cache);
	fputs(" cache", out);
	if (profile->cache_share > 1 && profile->cache_capacity_bytes != UNKNOWN)
		fprintf(out, " %s",
			format_bytes(size, (double)profile->cache_capacity_bytes));
	else if (isfinite(profile->cache_share))
		fprintf(out, " %.3g%%", 100 * fmin(1, profile->cache_share));
}

void format_busy(FILE *out, const struct profile *profile)
{
	if (profile->busy_why != NULL)
		escape_plain(out, profile->busy_why);
}

void format_emulated(FILE *out, const struct profile *profile)
{
	char number[FORMAT_SIZE];
	int parts = 0;

	if (isfinite(profile->emulated_per_s)) {
		fprintf(out, "accelerator %s samples/s",
			format_rate(number, profile->emulated_per_s));
		parts++;
	}
	if (isfinite(profile->storage_bandwidth))
		fprintf(out, "%sstorage %s/s", parts++ ? ", " : "",
			format_bytes(number, profile->storage_bandwidth));
	if (isfinite(profile->storage_latency_s))
		fprintf(out, "%sstorage latency %s", parts++ ? ", " : "",
			format_seconds(number, profile->storage_latency_s));
	if (isfinite(profile->prep_delay_s))
		fprintf(out, "%sprep of %s a sample", parts++ ? ", " : "",
			format_seconds(number, profile->prep_delay_s));
	if (profile->cache_emulated)
		fprintf(out, "%scache (its hits are drawn)", parts > 0 ? ", " : "");
}

void format_overhead(FILE *out, const struct profile *profile)
{
	const struct interval *overhead = &profile->overhead;
	double most =
		isfinite(overhead->high) ? 100 * fmin(MAX_SHARE, overhead->high) : 0;

	if (!isfinite(overhead->value))
		return;
	if (overhead->value > 0 && most > 0)
		fprintf(out, "%.2f%%, at most %.2f%%, of the CPU time of a sample",
			100 * overhead->value, most);
	else if (overhead->value > 0)
		fprintf(out, "%.2f%% of the CPU time of a sample",
			100 * overhead->value);
	else if (most > 0)
		fprintf(out, "not measurable (below %.2g%% of CPU time)", most);
	else
		fputs("not measurable", out);
}
