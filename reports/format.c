#include "reports/format.h"
#include "profiler/profile.h"
#include "reports/escape.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SHARE = 100 }; /* beyond it, shares are no shares of anything */

static const char *unknown(char *to)
{
	snprintf(to, FORMAT_SIZE, "n/a");
	return to;
}

/* Three digits or so. */
static int decimals(double value)
{
	value = fabs(value);
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *format_rate(char *to, double per_s)
{
	if (!isfinite(per_s))
		return unknown(to);
	snprintf(to, FORMAT_SIZE, fabs(per_s) < 1e12 ? "%.*f" : "%.*e", decimals(per_s),
		 per_s);
	return to;
}

const char *format_percent(char *to, double share)
{
	if (!isfinite(share))
		return unknown(to);
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
	double half = 50 * (interval->high - interval->low);

	to[0] = '\0';
	if (isfinite(half))
		snprintf(to, FORMAT_SIZE, fabs(half) < 1e4 ? "±%.1f" : "±%.0e", half);
	return to;
}

/* The largest unit of `units` that value reaches, each `step` above the one before. */
static const char *scaled(char *to, double value, double step, const char *const *units)
{
	while (fabs(value) >= step * 0.9995 && units[1] != NULL) {
		value /= step;
		units++;
	}
	snprintf(to, FORMAT_SIZE, fabs(value) < 1e9 ? "%.*f %s" : "%.*e %s",
		 decimals(value), value, *units);
	return to;
}

const char *format_bytes(char *to, double bytes)
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", NULL};

	if (!isfinite(bytes))
		return unknown(to);
	if (fabs(bytes) < 1000) {
		snprintf(to, FORMAT_SIZE, "%.0f B", bytes);
		return to;
	}
	return scaled(to, bytes / 1000, 1000, units);
}

const char *format_seconds(char *to, double seconds)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};

	if (!isfinite(seconds))
		return unknown(to);
	return scaled(to, seconds * 1e9, 1000, units);
}

const char *format_count(char *to, uint64_t count)
{
	char digits[24];
	size_t length, at = 0;

	if (count == UNKNOWN)
		return unknown(to);
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
static void balance(const double *shares, int count, long *tenths)
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
	balance(shares, count, tenths);
	return 1;
}

int format_stalls(const struct profile *profile, long tenths[3])
{
	const struct profile_stalls *stalls = &profile->stalls;
	double shares[] = {stalls->compute.value, stalls->prep.value,
			   stalls->fetch.value};

	return format_tenths(shares, 3, tenths);
}

char *format_string(format_words *words, const struct profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	words(out, profile);
	if (fclose(out) == EOF) {
		free(text);
		return NULL;
	}
	return text;
}

void format_setup(FILE *out, const struct profile *profile)
{
	const char *cache = profile->cache;

	if (profile->workers != UNKNOWN)
		fprintf(out, "%llu worker%s", (unsigned long long)profile->workers,
			profile->workers == 1 ? "" : "s");
	if (cache == NULL)
		return;
	if (profile->workers != UNKNOWN)
		fputs(" · ", out);
	escape_plain(out, strcmp(cache, "none") == 0 ? "no" : cache);
	fputs(" cache", out);
	if (isfinite(profile->cache_share))
		fprintf(out, " %.3g%%", 100 * profile->cache_share);
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

/* True when a stall is told from zero by its interval. */
static bool is_seen(const struct interval *stall)
{
	return isfinite(stall->low) ? stall->low > 0 : stall->value > 0;
}

static void stall_verdict(FILE *out, const struct profile *profile)
{
	const struct interval *prep = &profile->stalls.prep;
	const struct interval *fetch = &profile->stalls.fetch;
	double stall = prep->value + fetch->value;
	char number[FORMAT_SIZE], other[FORMAT_SIZE];

	if (!is_seen(prep) && !is_seen(fetch))
		fputs("Training does not wait for data: what it waits is within "
		      "the measurement's interval of zero.",
		      out);
	else if (stall < profile->overhead.high)
		fprintf(out,
			"No verdict: the wait found (%s) is smaller than what "
			"measuring "
			"may cost (%s).",
			format_percent(number, stall),
			format_percent(other, profile->overhead.high));
	else
		fprintf(out, "Training waits for data %s of its time, %s for %s.",
			format_percent(number, stall),
			is_seen(prep) && is_seen(fetch) ? "mostly" : "all of it",
			prep->value > fetch->value ? "preparation" : "storage");
}

void format_verdict(FILE *out, const struct profile *profile)
{
	const struct profile_stalls *stalls = &profile->stalls;

	if (isfinite(stalls->prep.value) && isfinite(stalls->fetch.value)) {
		stall_verdict(out, profile);
		return;
	}
	fputs("How long training waits for data was not measured", out);
	if (profile->status_why != NULL) {
		fputs(": ", out);
		escape_plain(out, profile->status_why);
	}
	fputs(".", out);
}
