/* whatif_words.c - a change and its gain, the same words in every report. */
#include "reports/common/whatif_words.h"
#include "reports/common/format.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

enum { WHATIF_PART = 48 }; /* of the name of a part */

struct words {
	char *to;
	size_t used;
};

static void whatif_words_add(struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds to the list, with a comma before all but the first. */
static void whatif_words_add(struct words *words, const char *format, ...)
{
	size_t room = WHATIF_WORDS - words->used;
	va_list args;
	int length;

	length = snprintf(words->to + words->used, room, "%s",
			  words->used > 0 ? ", " : "");
	words->used += (size_t)length < room ? (size_t)length : room - 1;
	room = WHATIF_WORDS - words->used;
	va_start(args, format);
	length = vsnprintf(words->to + words->used, room, format, args);
	va_end(args);
	if (length > 0)
		words->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void whatif_words_add_count(struct words *words, unsigned count,
				   const char *what)
{
	if (count > 0)
		whatif_words_add(words, "%u %s%s", count, what, count == 1 ? "" : "s");
}

/* A word as it stands in a change, unless that is no name at all. */
static const char *whatif_words_name(const char *word)
{
	size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length > 0 && length <= 16 && word[length] == '\0' ? word : "unknown";
}

static void whatif_words_add_cache(struct words *words,
				   const struct profile_change *change)
{
	const char *policy = profile_word(profile_caches, &change->cache_policy);

	if (change->cache_share == 0 || change->cache_policy.id == CACHE_NONE)
		whatif_words_add(words, "no cache");
	else if (policy != NULL && isfinite(change->cache_share))
		whatif_words_add(words, "%s cache %.3g%%", whatif_words_name(policy),
				 100 * change->cache_share);
	else if (policy != NULL)
		whatif_words_add(words, "%s cache", whatif_words_name(policy));
	else if (isfinite(change->cache_share))
		whatif_words_add(words, "cache %.3g%%", 100 * change->cache_share);
}

static void whatif_words_add_storage(struct words *words,
				     const struct profile_change *change)
{
	char number[FORMAT_SIZE];

	if (change->storage_bandwidth == 0)
		whatif_words_add(words, "no storage limit");
	else if (isfinite(change->storage_bandwidth))
		whatif_words_add(words, "storage %s/s",
				 format_bytes(number, change->storage_bandwidth));
	if (change->storage_latency_s == 0)
		whatif_words_add(words, "no storage latency");
	else if (isfinite(change->storage_latency_s))
		whatif_words_add(words, "storage latency %s",
				 format_seconds(number, change->storage_latency_s));
	if (profile_change_has_bucket(change))
		whatif_words_add(words, "a bucket of %s",
				 format_seconds(number, change->bucket_latency_s));
	if (isfinite(change->bucket_per_s))
		whatif_words_add(words, "%s requests/s",
				 format_rate(number, change->bucket_per_s));
	if (change->block_fetch > 0)
		whatif_words_add(words, "blocks of %u", change->block_fetch);
	if (change->block_threshold > 0)
		whatif_words_add(words, "%u ahead", change->block_threshold);
	if (change->block_capacity > 0)
		whatif_words_add(words, "FIFO of %u", change->block_capacity);
	if (change->fetch_depth > 0)
		whatif_words_add(words, "%u read%s in flight", change->fetch_depth,
				 change->fetch_depth == 1 ? "" : "s");
}

/* "1x+0.5x" */
static const char *whatif_words_speeds(char to[WHATIF_WORDS], const double *speed)
{
	size_t used = 0;

	to[0] = '\0';
	for (int i = 0; i < PROFILE_SPEEDS && speed[i] > 0; i++) {
		int length = snprintf(to + used, WHATIF_WORDS - used, "%s%.3gx",
				      i > 0 ? "+" : "", speed[i]);

		used = used + (size_t)length < WHATIF_WORDS ? used + (size_t)length
							    : WHATIF_WORDS - 1;
	}
	return to;
}

static void add_jobs(struct words *words, const struct profile_change *change)
{
	char list[WHATIF_WORDS];
	bool uneven = change->job_speed[0] > 0;

	if (uneven)
		whatif_words_add(words, "jobs %s",
				 whatif_words_speeds(list, change->job_speed));
	else if (!change->share)
		whatif_words_add_count(words, change->jobs, "job");
	if (change->share && (uneven || change->jobs == 0))
		whatif_words_add(words, "one loader");
	else if (change->share)
		whatif_words_add(words, "share the loader x%u", change->jobs);
}

static void whatif_words_add_recipe(struct words *words,
				    const struct profile_change *change)
{
	const char *type = profile_word(profile_types, &change->type);

	if (change->resize > 0)
		whatif_words_add(words, "resize %u", change->resize);
	if (change->decoded)
		whatif_words_add(words, "stored decoded");
	if (type != NULL)
		whatif_words_add(words, "%s batches", whatif_words_name(type));
	if (change->libdsa)
		whatif_words_add(words, "libdsa's loader");
}

/* What is no letter of a name becomes a question mark: tables and pages show it as it is. */
static void whatif_words_add_without(struct words *words, const char *part)
{
	char name[WHATIF_PART];
	size_t length = 0;

	if (part == NULL)
		return;
	for (; part[length] != '\0' && length + 1 < WHATIF_PART; length++)
		name[length] = (isalnum((unsigned char)part[length]) ||
				strchr("_-#.", part[length]) != NULL)
				       ? part[length]
				       : '?';
	name[length] = '\0';
	whatif_words_add(words, "without %s", name);
}

const char *whatif_change_words(char to[WHATIF_WORDS],
				const struct profile_change *change)
{
	struct words words = {to, 0};

	whatif_words_add_count(&words, change->cores, "core");
	whatif_words_add_count(&words, change->workers, "worker");
	whatif_words_add_cache(&words, change);
	if (isfinite(change->gpu_speed))
		whatif_words_add(&words, "accelerator %.3gx", change->gpu_speed);
	if (change->batch > 0)
		whatif_words_add(&words, "batch %u", change->batch);
	whatif_words_add_storage(&words, change);
	add_jobs(&words, change);
	whatif_words_add_recipe(&words, change);
	whatif_words_add_without(&words, change->without);
	if (words.used == 0)
		whatif_words_add(&words, "as it was");
	return to;
}

const char *whatif_inside(const struct profile_verification *verification)
{
	static const char *const answers[] = {NULL, "no", "yes"};

	if (profile_rate_is_vague(verification->measured))
		return "too vague";
	return answers[verification->covered + 1];
}

bool whatif_is_per_job(const struct profile *profile,
		       const struct profile_change *change)
{
	return profile->job_count > 1 &&
	       (change->jobs == 0 || change->jobs == profile->job_count);
}

/* Bounds are rough, and look so. */
static const char *whatif_words_bound(char *to, double factor)
{
	snprintf(to, FORMAT_SIZE, fabs(factor) < 1e6 ? "%.1f" : "%.1e", factor);
	return to;
}

/* How a gain is spelled: 1.57 <times><open>1.52 <to> 1.61). */
struct spelling {
	const char *times, *open, *to;
};

static const char *whatif_words_spell(char *to, const struct interval *speedup,
				      const struct spelling *as)
{
	char value[FORMAT_SIZE], low[FORMAT_SIZE], high[FORMAT_SIZE];
	bool bounded = isfinite(speedup->low) && isfinite(speedup->high);

	if (isfinite(speedup->value) && bounded)
		snprintf(to, WHATIF_SPEED, "%.20s%s%s%.20s %s %.20s)",
			 format_rate(value, speedup->value), as->times, as->open,
			 format_rate(low, speedup->low), as->to,
			 format_rate(high, speedup->high));
	else if (bounded)
		snprintf(to, WHATIF_SPEED, "%.20s%s %s %.20s%s (bounds)",
			 whatif_words_bound(low, speedup->low), as->times, as->to,
			 whatif_words_bound(high, speedup->high), as->times);
	else if (isfinite(speedup->value))
		snprintf(to, WHATIF_SPEED, "%.20s%s",
			 format_rate(value, speedup->value), as->times);
	else
		snprintf(to, WHATIF_SPEED, "n/a");
	return to;
}

const char *whatif_speedup(char to[WHATIF_SPEED], const struct interval *speedup)
{
	static const struct spelling terminal = {"x", "  (", ".."};

	return whatif_words_spell(to, speedup, &terminal);
}

const char *whatif_gain(char to[WHATIF_SPEED], const struct interval *speedup)
{
	static const struct spelling page = {"×", " (", "to"};

	return whatif_words_spell(to, speedup, &page);
}

struct whatif_columns whatif_columns(const struct profile *profile)
{
	struct whatif_columns columns = {false, false, false};

	for (size_t i = 0; i < profile->prediction_count; i++) {
		columns.jobs |= isfinite(profile->predictions[i].per_job.high);
		columns.costs |= isfinite(profile->predictions[i].cost.value);
		columns.traffic |= isfinite(profile->predictions[i].traffic.reads);
	}
	return columns;
}

bool whatif_was_asked(const struct profile *profile)
{
	return profile->model.why != NULL || isfinite(profile->model.real.value) ||
	       profile->prediction_count > 0;
}

double whatif_cost(const struct profile *profile, double epoch)
{
	if (profile->dataset_samples == UNKNOWN || profile->dataset_samples == 0)
		return NAN;
	return epoch * 1e6 / (double)profile->dataset_samples;
}

void whatif_traffic(FILE *out, const struct profile *profile)
{
	const struct profile_traffic *traffic = &profile->traffic;
	char reads[FORMAT_SIZE], listing[FORMAT_SIZE], bytes[FORMAT_SIZE];

	if (isfinite(traffic->reads) && isfinite(traffic->listing))
		fprintf(out, "%s GETs, %s to list and %s out",
			format_count(reads, (uint64_t)round(traffic->reads)),
			format_count(listing, (uint64_t)round(traffic->listing)),
			format_bytes(bytes, traffic->out_bytes));
}

void whatif_check(FILE *out, const struct profile *profile)
{
	const struct profile_model *model = &profile->model;
	char off[FORMAT_SIZE];

	if (model->why == NULL && isfinite(model->real_error))
		fprintf(out,
			"predicted this run's own speed within %s; gains are of that "
			"prediction",
			format_percent(off, fabs(model->real_error)));
}

const char *whatif_currency(const struct profile *profile)
{
	const char *currency = profile->currency == NULL ? "" : profile->currency;
	size_t length = strspn(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return length < 8 && currency[length] == '\0' ? currency : "";
}
