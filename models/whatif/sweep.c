/* sweep.c - reads values, lists and ranges and makes a grid of changes of them. */
#include "models/whatif/sweep.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of a range that is not walked by ones or by points. */
enum { RANGE_VALUES = 5, ONES = 16 };

#define SPEED_LEAST  .01
#define SPEED_MOST   100
#define LATENCY_MOST 3600.0
#define RATE_LEAST   .01 /* requests a second that a bucket takes */
#define RATE_MOST    1e6
#define BLOCK_MOST   1000000000 /* samples of a fetch, ahead of a batch or in a FIFO */
#define PACE_LEAST   .1         /* of a job's accelerator, over the run's */
#define PACE_MOST    10

#define SWEEP_NAME(NAME, name) name,
static const char *const sweep_names[] = {SWEEP_TABLE(SWEEP_NAME)};

/* ---- one value ---- */

#define DIGITS "0123456789"

static bool read_cache(const char *text, struct sweep_value *value)
{
	uint64_t bytes;

	if (number_percent(text, &value->number))
		return true;
	if (!number_size(text, &bytes))
		return false;
	value->number = (double)bytes;
	value->bytes = true;
	/* "35" and "0.35" are slips for 35% */
	return bytes >= 1024 || text[strspn(text, DIGITS ".")] != '\0' ||
	       strcmp(text, "0") == 0;
}

static bool read_policy(const char *text, struct sweep_value *value)
{
	int policy = choice_find(CACHE_POLICY_NAMES, text);

	value->number = policy;
	return policy >= 0;
}

static bool sweep_read_count(const char *text, unsigned most, struct sweep_value *value)
{
	unsigned count;

	if (!number_count(text, most, &count))
		return false;
	value->number = count;
	return true;
}

/* Copies text without its ending, where it has it, into `to`; false: no room. */
static bool sweep_without(const char *text, const char *ending, char *to, size_t room)
{
	size_t length = strlen(text), tail = strlen(ending);

	if (length > tail && strcmp(text + length - tail, ending) == 0)
		length -= tail;
	if (length >= room)
		return false;
	memcpy(to, text, length);
	to[length] = '\0';
	return true;
}

static bool read_factor(const char *text, double *factor)
{
	char number[32];

	return sweep_without(text, "x", number, sizeof(number)) &&
	       number_real(number, factor);
}

static bool read_speed(const char *text, struct sweep_value *value)
{
	return read_factor(text, &value->number) && value->number >= SPEED_LEAST &&
	       value->number <= SPEED_MOST;
}

/* What stands before the next `end`; false: it is longer than a number is. */
static bool sweep_word(const char *text, const char *end, char *word, size_t room)
{
	size_t length = strcspn(text, end);

	if (length >= room)
		return false;
	memcpy(word, text, length);
	word[length] = '\0';
	return true;
}

/* One of those that "+" joins; *rest goes on behind it, NULL after the last. */
static bool read_pace(const char **rest, double *pace)
{
	char word[32];

	if (!sweep_word(*rest, "+", word, sizeof(word)))
		return false;
	*rest += strlen(word);
	*rest = **rest == '+' ? *rest + 1 : NULL;
	return read_factor(word, pace) && *pace >= PACE_LEAST && *pace <= PACE_MOST;
}

/* "1x+0.5x": jobs of these speeds. */
static bool read_paces(const char *text, struct sweep_value *value)
{
	bool differ = false;
	size_t count = 0;

	for (; text != NULL; count++) {
		if (count == PROFILE_SPEEDS ||
		    !read_pace(&text, &value->job_speed[count]))
			return false;
		differ |= value->job_speed[count] != 1;
	}
	value->number = (double)count;
	if (!differ)
		memset(value->job_speed, 0, sizeof(value->job_speed));
	return true;
}

static bool read_jobs(const char *text, struct sweep_value *value)
{
	return strpbrk(text, "+x") != NULL ? read_paces(text, value)
					   : sweep_read_count(text, LIMIT_JOBS, value);
}

static bool read_type(const char *text, struct sweep_value *value)
{
	int type = choice_find(PREP_TYPE_NAMES, text);

	value->number = type;
	return type >= 0;
}

static bool read_yes(const char *text, struct sweep_value *value)
{
	value->number = strcmp(text, "yes") == 0;
	return value->number == 1 || strcmp(text, "no") == 0;
}

static bool is_none(const char *text)
{
	return strcmp(text, "none") == 0;
}

static bool read_bandwidth(const char *text, struct sweep_value *value)
{
	char size[32];
	uint64_t bytes;

	if (is_none(text)) /* 0 stands for it: as fast as it is */
		return true;
	if (!sweep_without(text, "/s", size, sizeof(size)) ||
	    !number_size(size, &bytes) || bytes == 0)
		return false;
	value->number = (double)bytes;
	return true;
}

static bool read_latency(const char *text, struct sweep_value *value)
{
	return is_none(text) ||
	       (number_time(text, &value->number) && value->number <= LATENCY_MOST);
}

/* "latency=30ms,rate=3500": the rate may be left out. */
static bool read_bucket(const char *text, struct sweep_value *value)
{
	static const char latency[] = "latency=", rate[] = "rate=";
	char word[32];

	value->rate = NAN;
	if (strncmp(text, latency, strlen(latency)) != 0)
		return false;
	text += strlen(latency);
	if (!sweep_word(text, ",", word, sizeof(word)) ||
	    !number_time(word, &value->number) || value->number > LATENCY_MOST)
		return false;
	text += strlen(word);
	if (*text == '\0')
		return true;
	text++;
	return strncmp(text, rate, strlen(rate)) == 0 &&
	       number_real(text + strlen(rate), &value->rate) &&
	       value->rate >= RATE_LEAST && value->rate <= RATE_MOST;
}

/* "f=512,q=256,k=2048": all but the first may be left out. */
static bool sweep_read_blocks(const char *text, struct sweep_value *value)
{
	static const char names[] = "fqk";

	for (int i = 0; names[i] != '\0'; i++) {
		char word[32];

		if (text[0] != names[i] || text[1] != '=') {
			if (i == 0)
				return false;
			continue;
		}
		text += 2;
		if (!sweep_word(text, ",", word, sizeof(word)) ||
		    !number_whole(word, BLOCK_MOST, &value->block[i]) ||
		    (names[i] != 'q' && value->block[i] == 0))
			return false;
		text += strlen(word);
		text += *text == ',';
	}
	return *text == '\0';
}

static bool sweep_read_part(const char *text, struct sweep_value *value)
{
	size_t length = strlen(text);

	if (length == 0 || length >= SWEEP_NAME)
		return false;
	memcpy(value->name, text, length + 1);
	return true;
}

/* ---- ranges ---- */

static double sweep_between(double from, double to, int i, int steps)
{
	return i == 0 ? from : i == steps ? to : from + (to - from) * i / steps;
}

/* With as many digits as people like to read. */
static double by_factor(double from, double to, int i, int steps)
{
	double value = from * pow(to / from, (double)i / steps), unit;

	if (i == 0 || i == steps)
		return i == 0 ? from : to;
	unit = pow(10, floor(log10(value)) - 2);
	return round(value / unit) * unit;
}

/* Appends to the values; false when there are too many. */
static bool append_value(struct sweep_values *values, const struct sweep_value *value)
{
	if (values->count == SWEEP_VALUES)
		return false;
	values->value[values->count++] = *value;
	return true;
}

static bool sweep_append(struct sweep_values *values, double number, bool bytes)
{
	const struct sweep_value value = {.number = number, .bytes = bytes};

	return append_value(values, &value);
}

typedef bool spread(struct sweep_values *values, const struct sweep_value *from,
		    const struct sweep_value *to);

static bool spread_by(struct sweep_values *values, const struct sweep_value *from,
		      const struct sweep_value *to,
		      double (*at)(double from, double to, int i, int steps))
{
	for (int i = 0; i < RANGE_VALUES; i++)
		if (!sweep_append(values,
				  at(from->number, to->number, i, RANGE_VALUES - 1),
				  from->bytes))
			return false;
	return true;
}

static bool spread_evenly(struct sweep_values *values, const struct sweep_value *from,
			  const struct sweep_value *to)
{
	return spread_by(values, from, to, sweep_between);
}

static bool spread_by_factor(struct sweep_values *values,
			     const struct sweep_value *from,
			     const struct sweep_value *to)
{
	return spread_by(values, from, to, by_factor);
}

static bool spread_cache(struct sweep_values *values, const struct sweep_value *from,
			 const struct sweep_value *to)
{
	if (from->bytes)
		return spread_evenly(values, from, to);
	for (int i = 0; from->number + .1 * i < to->number - 1e-9; i++)
		if (!sweep_append(values, from->number + .1 * i, false))
			return false;
	return sweep_append(values, to->number, false);
}

static bool spread_count(struct sweep_values *values, const struct sweep_value *from,
			 const struct sweep_value *to)
{
	double ratio = to->number / from->number;
	bool ones = to->number - from->number < ONES;
	int steps = ones ? (int)(to->number - from->number)
			 : (int)fmax(RANGE_VALUES - 1, round(log2(ratio)));

	for (int i = 0; i <= steps; i++)
		if (!sweep_append(
			    values,
			    ones ? from->number + i
				 : round(from->number * pow(ratio, (double)i / steps)),
			    false))
			return false;
	return true;
}

/* Of speeds there is no range. */
static bool spread_jobs(struct sweep_values *values, const struct sweep_value *from,
			const struct sweep_value *to)
{
	return from->job_speed[0] == 0 && to->job_speed[0] == 0 &&
	       spread_count(values, from, to);
}

/* ---- the values of a key ---- */

struct key {
	bool (*read)(const char *text, struct sweep_value *value); /* NULL: a count */
	spread *spread;     /* NULL: values without an order */
	const char *may_be; /* in words, or a choice */
	unsigned most;      /* of a count */
};

#define COUNT(most)                                                                    \
	{                                                                              \
		NULL, spread_count, LIMIT_RANGE(most), most                            \
	}

static const struct key keys[SWEEP_KEYS] = {
	[SWEEP_CACHE] = {read_cache, spread_cache,
			 "a share 0% to 100%, or bytes such as 2G", 0},
	[SWEEP_POLICY] = {read_policy, NULL, CACHE_POLICY_NAMES, 0},
	[SWEEP_CORES] = COUNT(LIMIT_CORES),
	[SWEEP_WORKERS] = COUNT(LIMIT_WORKERS),
	[SWEEP_SPEED] = {read_speed, spread_by_factor, "a factor 0.01 to 100", 0},
	[SWEEP_BATCH] = COUNT(LIMIT_BATCH),
	[SWEEP_BANDWIDTH] = {read_bandwidth, spread_by_factor,
			     "bytes/s such as 500M, or none", 0},
	[SWEEP_LATENCY] = {read_latency, spread_evenly,
			   "a time up to 1h such as 5ms, or none", 0},
	[SWEEP_BUCKET] = {read_bucket, NULL,
			  "latency=TIME or latency=TIME,rate=REQUESTS a second such as "
			  "latency=30ms,rate=3500",
			  0},
	[SWEEP_BLOCKS] = {sweep_read_blocks, NULL,
			  "f=SAMPLES, f=SAMPLES,q=SAMPLES,k=SAMPLES or without q or k, "
			  "such as f=512,q=256,k=2048",
			  0},
	[SWEEP_DEPTH] = COUNT(LIMIT_FETCH_DEPTH),
	[SWEEP_JOBS] = {read_jobs, spread_jobs,
			LIMIT_RANGE(LIMIT_JOBS) ", or the speeds 0.1x to 10x of up to "
						"16 such as 1x+0.5x",
			0},
	[SWEEP_SHARE] = {read_yes, NULL, "yes|no", 0},
	[SWEEP_RESIZE] = COUNT(LIMIT_SIDE),
	[SWEEP_TYPE] = {read_type, NULL, PREP_TYPE_NAMES, 0},
	[SWEEP_DECODED] = {read_yes, NULL, "yes|no", 0},
	[SWEEP_WITHOUT] = {sweep_read_part, NULL, "the name of a transform", 0},
};

static bool sweep_read(const struct key *key, const char *text,
		       struct sweep_value *value)
{
	return key->read != NULL ? key->read(text, value)
				 : sweep_read_count(text, key->most, value);
}

/* "1..16", both ends read by the key, `dots` at the dots. */
static bool read_range(const struct key *key, char *text, char *dots,
		       struct sweep_values *values)
{
	struct sweep_value from = {0}, to = {0};

	*dots = '\0';
	return key->spread != NULL && !is_none(text) && !is_none(dots + 2) &&
	       sweep_read(key, text, &from) && sweep_read(key, dots + 2, &to) &&
	       from.bytes == to.bytes && from.number < to.number &&
	       key->spread(values, &from, &to);
}

static bool read_item(const struct key *key, char *text, struct sweep_values *values)
{
	struct sweep_value value = {0};
	char *dots = strstr(text, "..");

	if (dots != NULL)
		return read_range(key, text, dots, values);
	return sweep_read(key, text, &value) && append_value(values, &value);
}

static int sweep_refuse(int which, const char *values, struct error *err)
{
	const struct key *key = &keys[which];
	char may_be[CHOICE_TEXT];

	return error_set(err, EINVAL, "%s is %s, or a list%s of these, not '%.64s'",
			 sweep_names[which], choice_list(key->may_be, " or ", may_be),
			 key->spread != NULL ? " or range" : "", values);
}

/* True of what belongs to the item before: a bucket's rate, q and k of blocks. */
static bool sweep_goes_on(int which, const char *text)
{
	return (which == SWEEP_BUCKET && strncmp(text, "rate=", 5) == 0) ||
	       (which == SWEEP_BLOCKS &&
		(strncmp(text, "q=", 2) == 0 || strncmp(text, "k=", 2) == 0));
}

/* The next item of a list, as strsep(). */
static char *sweep_next_item(int which, char **rest)
{
	char *item = *rest, *end;

	if (item == NULL)
		return NULL;
	end = strchr(item, ',');
	while (end != NULL && sweep_goes_on(which, end + 1))
		end = strchr(end + 1, ',');
	if (end != NULL)
		*end++ = '\0';
	*rest = end;
	return item;
}

static int set_values(struct sweep *sweep, int which, const char *text,
		      struct error *err)
{
	struct sweep_values values = {.count = 0};
	char *copy = strdup(text), *rest = copy, *item;
	int result = 0;

	if (copy == NULL)
		return error_sys(err, ENOMEM, "reading %s", sweep_names[which]);
	while (result == 0 && (item = sweep_next_item(which, &rest)) != NULL)
		if (!read_item(&keys[which], item, &values))
			result = values.count == SWEEP_VALUES
					 ? error_set(err, EINVAL,
						     "%s: more than %d values",
						     sweep_names[which], SWEEP_VALUES)
					 : sweep_refuse(which, text, err);
	if (result == 0)
		sweep->keys[which] = values;
	free(copy);
	return result;
}

#define SWEEP_CHOICE(NAME, name) "|" name

int sweep_set(struct sweep *sweep, const char *key, const char *values,
	      struct error *err)
{
	const char *names = &SWEEP_TABLE(SWEEP_CHOICE)[1];
	char list[CHOICE_TEXT];
	int which = choice_find(names, key);

	if (which >= 0)
		return set_values(sweep, which, values, err);
	return error_set(err, EINVAL, "no change is called '%.20s'; there are %s", key,
			 choice_list(names, " and ", list));
}

int sweep_set_pair(struct sweep *sweep, const char *pair, struct error *err)
{
	const char *equals = strchr(pair, '=');
	char key[32];

	if (equals == NULL)
		return error_set(err, EINVAL,
				 "a sweep is KEY=VALUES such as cores=1,2, not '%.64s'",
				 pair);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	return sweep_set(sweep, key, equals + 1, err);
}
