/* settings.c - the options of every command with a loader. */
#include "cmd/common/settings.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/limits.h"
#include "loader/base/number.h"
#include "loader/base/variants.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Fewer hold no sample: without a unit it is a slip. */
enum { LEAST_CACHE = 1024 };

static void settings_duration(struct argp_state *state, void *member, const char *value)
{
	double seconds;

	if (!number_time(value, &seconds) || seconds > 3600)
		argument_error(state, "--%s is a time up to 1h such as 5ms, not '%s'",
			       argument_current(state)->name, value);
	else
		*(uint64_t *)member = (uint64_t)(seconds * 1e9 + 0.5);
}

static void settings_deadline(struct argp_state *state, void *member, const char *value)
{
	double seconds;

	if (!number_time(value, &seconds) || seconds <= 0 || seconds > LIMIT_DEADLINE)
		argument_error(state,
			       "--deadline is a time up to 1h such as 60s, not "
			       "'%s'",
			       value);
	else
		*(uint64_t *)member = (uint64_t)(seconds * 1e9 + 0.5);
}

/* Takes "500M" and "500MB/s". */
static void settings_bandwidth(struct argp_state *state, void *member,
			       const char *value)
{
	uint64_t *rate = member;
	size_t length = strlen(value);
	char bytes[32] = "";

	if (length > 2 && strcmp(value + length - 2, "/s") == 0)
		length -= 2;
	if (length < sizeof(bytes))
		memcpy(bytes, value, length);
	if (!number_size(bytes, rate) || *rate == 0)
		argument_error(state,
			       "--storage-bandwidth is bytes/s such as 500M, not '%s'",
			       value);
}

static void settings_read_gap(struct argp_state *state, void *member, const char *value)
{
	uint64_t *bytes = member;

	if (!number_size(value, bytes) || *bytes > LIMIT_READ_GAP)
		argument_error(state,
			       "--read-gap is bytes such as 64K, up to 1G, not '%s'",
			       value);
}

static void settings_cache_size(struct argp_state *state, void *member,
				const char *value)
{
	uint64_t bytes = 0;
	double share;

	*(const char **)member = value;
	if (!number_size(value, &bytes) && !number_percent(value, &share))
		argument_error(state,
			       "--cache is bytes such as 2G or a share such as 35%%, "
			       "not '%s'",
			       value);
	else if (value[strspn(value, "0123456789.")] == '\0' && bytes < LEAST_CACHE &&
		 strcmp(value, "0") != 0)
		argument_error(state, "--cache: %s bytes? Say 35%% or 35M", value);
}

static void settings_prefetch_bytes(struct argp_state *state, void *member,
				    const char *value)
{
	if (!number_size(value, member) || *(uint64_t *)member == 0)
		argument_error(state, "--prefetch-bytes is bytes such as 64M, not '%s'",
			       value);
}

#define TO(kind, member)     ARGUMENT(settings, kind, member)
#define NUMBER(member, most) ARGUMENT_NUMBER(settings, member, 1, most)
#define BY(set, member)      ARGUMENT_BY(settings, member, set)

const struct argument settings_arguments[] = {
	ARGUMENT_HEADING(10, "The loader:"),
	{"dataset", SETTING_DATASET, "DIR", TO(TEXT, dataset),
	 "Samples: a folder per class, a list, tar or TFRecord shards, "
	 "s3://BUCKET/PREFIX, "
	 "http[s]://HOST/LIST, synthetic[:COUNT]"},
	{"batch", SETTING_BATCH, "N", NUMBER(batch, LIMIT_BATCH), "Samples a batch"},
	{"workers", SETTING_WORKERS, "N", NUMBER(workers, LIMIT_WORKERS),
	 "Threads that prepare samples"},
	{"cores", SETTING_CORES, "N", NUMBER(cores, CPU_SETSIZE), "Use only N cores"},
	{"cache", SETTING_CACHE, "SIZE", BY(settings_cache_size, cache_size),
	 "Bytes of the cache, or its share of the data: 35%"},
	{"cache-policy", SETTING_CACHE_POLICY, LOADER_CACHE_POLICY_NAMES,
	 TO(NAME, cache), "What the cache keeps (with --cache: minio)"},
	{"cache-dir", SETTING_CACHE_DIR, "DIR", TO(TEXT, cache_dir),
	 "Keep the cache on local disk, for processes and runs to share"},
	{"fetch", SETTING_FETCH, FETCH_ENGINE_NAMES, TO(NAME, fetch),
	 "How samples are read"},
	{"fetch-depth", SETTING_FETCH_DEPTH, "N",
	 NUMBER(fetch_depth, LIMIT_FETCH_DEPTH), "Reads in flight"},
	{"read-gap", SETTING_READ_GAP, "SIZE", BY(settings_read_gap, read_gap),
	 "Samples of a shard that lie no further apart are one read (64K)"},
	{"on-error", SETTING_ON_ERROR, "skip|fail", TO(NAME, on_error),
	 "What to do about a sample that can't be read or decoded (skip)"},
	{"relist", SETTING_RELIST, NULL, TO(FLAG, relist),
	 "List a bucket or web server anew, though its listing was kept"},
	{"deadline", SETTING_DEADLINE, "TIME", BY(settings_deadline, deadline_ns),
	 "End when a server gives no answer for TIME (60s)"},
	{"image-feature", SETTING_IMAGE_FEATURE, "NAME", TO(TEXT, image_feature),
	 "The feature of TFRecord's examples that is the picture"},
	{"label-feature", SETTING_LABEL_FEATURE, "NAME", TO(TEXT, label_feature),
	 "The feature that is the label (default: as the first record has them)"},
	{"prefetch", SETTING_PREFETCH, "N", NUMBER(prefetch, LIMIT_PREFETCH),
	 "Batches prepared ahead"},
	{"prefetch-bytes", SETTING_PREFETCH_BYTES, "SIZE",
	 BY(settings_prefetch_bytes, prefetch_bytes),
	 "Encoded samples that are fetched and not used yet, at the most"},
	{"hedge", SETTING_HEDGE, NULL, TO(FLAG, hedge),
	 "Ask servers again where an answer is late, and take the first"},
	{"shuffle", SETTING_SHUFFLE, "global|blocks", TO(NAME, shuffle),
	 "Shuffle all samples at once, or runs of neighbours (global)"},
	{"seed", SETTING_SEED, "N", TO(WHOLE, seed),
	 "Draw order, crops and flips from N"},
	{"steps", SETTING_STEPS, "N", TO(WHOLE, steps), "Stop after N batches"},
	{"storage-bandwidth", SETTING_BANDWIDTH, "RATE",
	 BY(settings_bandwidth, bandwidth),
	 "Emulate: storage gives at most RATE bytes a second"},
	{"storage-latency", SETTING_LATENCY, "TIME", BY(settings_duration, latency_ns),
	 "Emulate: each read takes at least TIME"},
	{"prep-delay", SETTING_DELAY, "TIME", BY(settings_duration, delay_ns),
	 "Emulate: preparing a sample takes at least TIME"},
	{0},
};

void settings_taken(struct argp_state *state, void *member, const char *value)
{
	const struct argument *option = argument_current(state);
	struct settings *settings = member;

	(void)value;
	settings->given |= 1u << option->key;
}

static bool settings_given(const struct settings *settings, enum setting which)
{
	return (settings->given >> which & 1) != 0;
}

/* A value of DSA_LOADER; characters that would end it become %XX. */
static void settings_put_text(FILE *to, const char *key, const char *value)
{
	fprintf(to, ",%s=", key);
	for (; *value != '\0'; value++) {
		unsigned char c = (unsigned char)*value;

		if (c < ' ' || c == 127 || c == ',' || c == '%')
			fprintf(to, "%%%02X", c);
		else
			putc(c, to);
	}
}

static void settings_put_all(FILE *to, const struct settings *o)
{
	const struct {
		enum setting which;
		const char *key, *unit;
		uint64_t value;
	} numbers[] = {
		{SETTING_BATCH, "batch", "", o->batch},
		{SETTING_WORKERS, "workers", "", o->workers},
		{SETTING_PREFETCH, "prefetch", "", o->prefetch},
		{SETTING_FETCH_DEPTH, "fetch_depth", "", o->fetch_depth},
		{SETTING_SEED, "seed", "", o->seed},
		{SETTING_PREFETCH_BYTES, "prefetch_bytes", "", o->prefetch_bytes},
		{SETTING_READ_GAP, "read_gap", "", o->read_gap},
		{SETTING_BANDWIDTH, "storage_bandwidth", "", o->bandwidth},
		{SETTING_LATENCY, "storage_latency", "ns", o->latency_ns},
		{SETTING_DELAY, "prep_delay", "ns", o->delay_ns},
		{SETTING_DEADLINE, "deadline", "ns", o->deadline_ns},
	};

	if (o->dataset != NULL)
		settings_put_text(to, "dataset", o->dataset);
	if (o->fetch != NULL)
		settings_put_text(to, "fetch", o->fetch);
	if (o->cache != NULL || o->cache_size != NULL)
		settings_put_text(to, "cache", o->cache != NULL ? o->cache : "minio");
	if (o->cache_size != NULL)
		settings_put_text(to, "cache_size", o->cache_size);
	if (o->cache_dir != NULL)
		settings_put_text(to, "cache_dir", o->cache_dir);
	if (o->hedge)
		fputs(",hedge=1", to);
	if (o->relist)
		fputs(",relist=1", to);
	if (o->image_feature != NULL)
		settings_put_text(to, "image_feature", o->image_feature);
	if (o->label_feature != NULL)
		settings_put_text(to, "label_feature", o->label_feature);
	if (o->shuffle != NULL)
		settings_put_text(to, "shuffle", o->shuffle);
	if (o->on_error != NULL)
		settings_put_text(to, "on_error", o->on_error);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (settings_given(o, numbers[i].which))
			fprintf(to, ",%s=%" PRIu64 "%s", numbers[i].key,
				numbers[i].value, numbers[i].unit);
}

char *settings_loader(const struct settings *settings, const char *before)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	if (before != NULL)
		fputs(before, to);
	settings_put_all(to, settings);
	if (io_text(to, &text) != NULL && text[0] == ',')
		memmove(text, text + 1, size);
	return text;
}

/* What this process may use; refuses --cores of more. */
static int settings_cores(const struct settings *settings, cpu_set_t *have,
			  struct error *err)
{
	unsigned count;

	if (sched_getaffinity(0, sizeof(*have), have) < 0)
		return error_sys(err, errno, "cannot read which cores may be used");
	count = (unsigned)CPU_COUNT(have);
	if (settings->cores > count)
		return error_set(err, EINVAL, "--cores %u: there are only %u here",
				 settings->cores, count);
	return 0;
}

int settings_check_cores(const struct settings *settings, struct error *err)
{
	cpu_set_t have;

	return settings->cores == 0 ? 0 : settings_cores(settings, &have, err);
}

int settings_take_cores(const struct settings *settings, struct error *err)
{
	unsigned found = 0;
	cpu_set_t have, take;
	int result;

	if (settings->cores == 0)
		return 0;
	result = settings_cores(settings, &have, err);
	if (result < 0)
		return result;
	CPU_ZERO(&take);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < settings->cores; cpu++) {
		if (!CPU_ISSET(cpu, &have))
			continue;
		CPU_SET(cpu, &take);
		found++;
	}
	if (sched_setaffinity(0, sizeof(take), &take) < 0)
		return error_sys(err, errno, "cannot use %u cores only",
				 settings->cores);
	return 0;
}
