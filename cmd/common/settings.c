/* settings.c - the options of every command with a loader. */
#include "cmd/common/settings.h"
#include "cmd/common/argument.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/number.h"
#include "loader/base/variants.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of argp: those of parents are letters, or below. */
#define KEY(name) (1000 + SETTING_##name)

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "The loader:", 10},
	{"dataset", KEY(DATASET), "DIR", 0,
	 "Samples: a folder per class, a list file, or synthetic[:COUNT]", 0},
	{"batch", KEY(BATCH), "N", 0, "Samples a batch", 0},
	{"workers", KEY(WORKERS), "N", 0, "Threads that prepare samples", 0},
	{"cores", KEY(CORES), "N", 0, "Use only N cores", 0},
	{"cache", KEY(CACHE), "SIZE", 0,
	 "Bytes of the cache, or its share of the data: 35%", 0},
	{"cache-policy", KEY(CACHE_POLICY), LOADER_CACHE_POLICY_NAMES, 0,
	 "What the cache keeps (with --cache: minio)", 0},
	{"fetch", KEY(FETCH), FETCH_ENGINE_NAMES, 0, "How samples are read", 0},
	{"fetch-depth", KEY(FETCH_DEPTH), "N", 0, "Reads in flight", 0},
	{"on-error", KEY(ON_ERROR), "skip|fail", 0,
	 "What to do about a sample that can't be read or decoded (skip)", 0},
	{"prefetch", KEY(PREFETCH), "N", 0, "Batches prepared ahead", 0},
	{"seed", KEY(SEED), "N", 0, "Draw order, crops and flips from N", 0},
	{"steps", KEY(STEPS), "N", 0, "Stop after N batches", 0},
	{"storage-bandwidth", KEY(BANDWIDTH), "RATE", 0,
	 "Emulate: storage gives at most RATE bytes a second", 0},
	{"storage-latency", KEY(LATENCY), "TIME", 0,
	 "Emulate: each read takes at least TIME", 0},
	{"prep-delay", KEY(DELAY), "TIME", 0,
	 "Emulate: preparing a sample takes at least TIME", 0},
	{0},
};

static const struct argument arguments[] = {
#define AT(key, kind, member)     ARGUMENT(settings, KEY(key), kind, member)
#define NUMBER(key, member, most) ARGUMENT_NUMBER(settings, KEY(key), member, 1, most)
	AT(DATASET, TEXT, dataset),
	NUMBER(BATCH, batch, LIMIT_BATCH),
	NUMBER(WORKERS, workers, LIMIT_WORKERS),
	NUMBER(CORES, cores, CPU_SETSIZE),
	AT(CACHE_POLICY, NAME, cache),
	AT(FETCH, NAME, fetch),
	NUMBER(FETCH_DEPTH, fetch_depth, LIMIT_FETCH_DEPTH),
	AT(ON_ERROR, NAME, on_error),
	NUMBER(PREFETCH, prefetch, LIMIT_PREFETCH),
	AT(SEED, WHOLE, seed),
	AT(STEPS, WHOLE, steps),
	{0},
#undef NUMBER
#undef AT
};

static const char *settings_name(int key)
{
	return argument_find(options, key)->name;
}

static void settings_duration(struct argp_state *state, int key, const char *arg,
			      uint64_t *ns)
{
	double seconds;

	if (!number_time(arg, &seconds) || seconds > 3600)
		argp_error(state, "--%s is a time up to 1h such as 5ms, not '%s'",
			   settings_name(key), arg);
	else
		*ns = (uint64_t)(seconds * 1e9 + 0.5);
}

/* Takes "500M" and "500MB/s". */
static void settings_bandwidth(struct argp_state *state, const char *arg,
			       uint64_t *rate)
{
	size_t length = strlen(arg);
	char bytes[32] = "";

	if (length > 2 && strcmp(arg + length - 2, "/s") == 0)
		length -= 2;
	if (length < sizeof(bytes))
		memcpy(bytes, arg, length);
	if (!number_size(bytes, rate) || *rate == 0)
		argp_error(state,
			   "--storage-bandwidth is bytes/s such as 500M, not '%s'",
			   arg);
}

static void cache_size(struct argp_state *state, const char *arg, const char **value)
{
	uint64_t bytes;
	double share;

	*value = arg;
	if (!number_size(arg, &bytes) && !number_percent(arg, &share))
		argp_error(state,
			   "--cache is bytes such as 2G or a share such as 35%%, "
			   "not '%s'",
			   arg);
}

static error_t settings_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case KEY(CACHE):
		cache_size(state, arg, &settings->cache_size);
		break;
	case KEY(BANDWIDTH):
		settings_bandwidth(state, arg, &settings->bandwidth);
		break;
	case KEY(LATENCY):
		settings_duration(state, key, arg, &settings->latency_ns);
		break;
	case KEY(DELAY):
		settings_duration(state, key, arg, &settings->delay_ns);
		break;
	default:
		if (argument_take(options, arguments, key, arg, state) != 0)
			return ARGP_ERR_UNKNOWN;
	}
	settings->given |= 1u << (key - KEY(DATASET));
	if ((settings->given & settings->unfit) != 0)
		argp_error(state, "--%s has no effect here", settings_name(key));
	return 0;
}

const struct argp settings_argp = {.options = options, .parser = settings_parse};

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
		{SETTING_BANDWIDTH, "storage_bandwidth", "", o->bandwidth},
		{SETTING_LATENCY, "storage_latency", "ns", o->latency_ns},
		{SETTING_DELAY, "prep_delay", "ns", o->delay_ns},
	};

	if (o->dataset != NULL)
		settings_put_text(to, "dataset", o->dataset);
	if (o->fetch != NULL)
		settings_put_text(to, "fetch", o->fetch);
	if (o->cache != NULL || o->cache_size != NULL)
		settings_put_text(to, "cache", o->cache != NULL ? o->cache : "minio");
	if (o->cache_size != NULL)
		settings_put_text(to, "cache_size", o->cache_size);
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
	bool failed;

	if (to == NULL)
		return NULL;
	if (before != NULL)
		fputs(before, to);
	settings_put_all(to, settings);
	failed = ferror(to) != 0;
	if (fclose(to) != 0 || failed) {
		free(text);
		return NULL;
	}
	if (text[0] == ',')
		memmove(text, text + 1, size);
	return text;
}

int settings_take_cores(const struct settings *settings, struct error *err)
{
	unsigned found = 0;
	cpu_set_t have, take;

	if (settings->cores == 0)
		return 0;
	if (sched_getaffinity(0, sizeof(have), &have) < 0)
		return error_sys(err, errno, "cannot read which cores may be used");
	CPU_ZERO(&take);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < settings->cores; cpu++) {
		if (!CPU_ISSET(cpu, &have))
			continue;
		CPU_SET(cpu, &take);
		found++;
	}
	if (found < settings->cores)
		return error_set(err, EINVAL, "--cores %u: there are only %u here",
				 settings->cores, found);
	if (sched_setaffinity(0, sizeof(take), &take) < 0)
		return error_sys(err, errno, "cannot use %u cores only",
				 settings->cores);
	return 0;
}
