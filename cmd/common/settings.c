/* settings.c - the options of every command with a loader. */
#include "cmd/common/settings.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/number.h"
#include "loader/base/variants.h"
#include "loader/options.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void settings_set_flag(struct argp_state *state, void *member, const char *none)
{
	(void)state;
	(void)none;
	*(const char **)member = "1";
}

#define TO(kind, member)     ARGUMENT(settings, kind, member)
#define NUMBER(member, most) ARGUMENT_NUMBER(settings, member, 1, most)
#define GIVEN(setting)       ARGUMENT(settings, TEXT, given[SETTING_##setting])
#define FLAG(setting)        ARGUMENT_BY(settings, given[SETTING_##setting], settings_set_flag)
#define NAME(setting)        ARGUMENT(settings, NAME, given[SETTING_##setting])

const struct argument settings_arguments[] = {
	ARGUMENT_HEADING(10, "The loader:"),
	{"dataset", SETTING_DATASET, "DIR", GIVEN(DATASET),
	 "Samples: a folder per class, a list, tar or TFRecord shards, "
	 "s3://BUCKET/PREFIX, "
	 "http[s]://HOST/LIST, synthetic[:COUNT]"},
	{"batch", SETTING_BATCH, "N", GIVEN(BATCH), "Samples a batch"},
	{"workers", SETTING_WORKERS, "N", GIVEN(WORKERS),
	 "Threads that prepare samples"},
	{"cores", SETTING_CORES, "N", NUMBER(cores, CPU_SETSIZE), "Use only N cores"},
	{"cache", SETTING_CACHE, "SIZE", GIVEN(CACHE),
	 "Bytes of the cache, or its share of the data: 35%"},
	{"cache-policy", SETTING_CACHE_POLICY, LOADER_CACHE_POLICY_NAMES,
	 NAME(CACHE_POLICY), "What the cache keeps (with --cache: minio)"},
	{"cache-dir", SETTING_CACHE_DIR, "DIR", GIVEN(CACHE_DIR),
	 "Keep the cache on local disk, for processes and runs to share"},
	{"fetch", SETTING_FETCH, FETCH_ENGINE_NAMES, NAME(FETCH),
	 "How samples are read"},
	{"fetch-depth", SETTING_FETCH_DEPTH, "N", GIVEN(FETCH_DEPTH),
	 "Reads in flight"},
	{"read-gap", SETTING_READ_GAP, "SIZE", GIVEN(READ_GAP),
	 "Samples of a shard that lie no further apart are one read (64K)"},
	{"on-error", SETTING_ON_ERROR, "skip|fail", NAME(ON_ERROR),
	 "What to do about a sample that can't be read or decoded (skip)"},
	{"relist", SETTING_RELIST, NULL, FLAG(RELIST),
	 "List a bucket or web server anew, though its listing was kept"},
	{"deadline", SETTING_DEADLINE, "TIME", GIVEN(DEADLINE),
	 "End when a server gives no answer for TIME (60s)"},
	{"image-feature", SETTING_IMAGE_FEATURE, "NAME", GIVEN(IMAGE_FEATURE),
	 "The feature of TFRecord's examples that is the picture"},
	{"label-feature", SETTING_LABEL_FEATURE, "NAME", GIVEN(LABEL_FEATURE),
	 "The feature that is the label (default: as the first record has them)"},
	{"prefetch", SETTING_PREFETCH, "N", GIVEN(PREFETCH), "Batches prepared ahead"},
	{"prefetch-bytes", SETTING_PREFETCH_BYTES, "SIZE", GIVEN(PREFETCH_BYTES),
	 "Encoded samples that are fetched and not used yet, at the most"},
	{"hedge", SETTING_HEDGE, NULL, FLAG(HEDGE),
	 "Ask servers again where an answer is late, and take the first"},
	{"shuffle", SETTING_SHUFFLE, "global|blocks", NAME(SHUFFLE),
	 "Shuffle all samples at once, or runs of neighbours (global)"},
	{"seed", SETTING_SEED, "N", TO(WHOLE, seed),
	 "Draw order, crops and flips from N"},
	{"steps", SETTING_STEPS, "N", TO(WHOLE, steps), "Stop after N batches"},
	{"storage-bandwidth", SETTING_BANDWIDTH, "RATE", GIVEN(BANDWIDTH),
	 "Emulate: storage gives at most RATE bytes a second"},
	{"storage-latency", SETTING_LATENCY, "TIME", GIVEN(LATENCY),
	 "Emulate: each read takes at least TIME"},
	{"prep-delay", SETTING_DELAY, "TIME", GIVEN(DELAY),
	 "Emulate: preparing a sample takes at least TIME"},
	{0},
};

/* Keys of DSA_LOADER; of others it knows nothing. */
static const char *const settings_keys[SETTINGS_COUNT] = {
	[SETTING_DATASET] = "dataset",
	[SETTING_BATCH] = "batch",
	[SETTING_WORKERS] = "workers",
	[SETTING_CACHE] = "cache_size",
	[SETTING_CACHE_POLICY] = "cache",
	[SETTING_CACHE_DIR] = "cache_dir",
	[SETTING_FETCH] = "fetch",
	[SETTING_FETCH_DEPTH] = "fetch_depth",
	[SETTING_PREFETCH] = "prefetch",
	[SETTING_BANDWIDTH] = "storage_bandwidth",
	[SETTING_LATENCY] = "storage_latency",
	[SETTING_DELAY] = "prep_delay",
	[SETTING_SEED] = "seed",
	[SETTING_ON_ERROR] = "on_error",
	[SETTING_RELIST] = "relist",
	[SETTING_PREFETCH_BYTES] = "prefetch_bytes",
	[SETTING_HEDGE] = "hedge",
	[SETTING_SHUFFLE] = "shuffle",
	[SETTING_DEADLINE] = "deadline",
	[SETTING_IMAGE_FEATURE] = "image_feature",
	[SETTING_LABEL_FEATURE] = "label_feature",
	[SETTING_READ_GAP] = "read_gap",
};

/* So few bytes hold no sample: without a unit it is a slip. */
static bool settings_is_slip(const char *cache)
{
	uint64_t bytes;

	return cache[strspn(cache, "0123456789.")] == '\0' && strcmp(cache, "0") != 0 &&
	       number_size(cache, &bytes) && bytes < 1024;
}

void settings_taken(struct argp_state *state, void *member, const char *value)
{
	const struct argument *option = argument_current(state);
	const char *key = settings_keys[option->key];
	struct settings *settings = member;
	struct error err = {0};

	if (value == NULL) /* a flag */
		return;
	settings->given[option->key] = value;
	if (key != NULL && options_check_value(key, value, &err) < 0)
		argument_error(state, "--%s %s", option->name, err.message);
	if (option->key == SETTING_CACHE && settings_is_slip(value))
		argument_error(state, "--cache: %s bytes? Say 35%% or 35M", value);
}

/* A value of DSA_LOADER; characters that would end it become %XX. */
static void settings_put(FILE *to, const char *key, const char *value)
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

static void settings_put_all(FILE *to, const struct settings *settings)
{
	const char *const *given = settings->given;

	if (given[SETTING_CACHE] != NULL && given[SETTING_CACHE_POLICY] == NULL)
		settings_put(to, settings_keys[SETTING_CACHE_POLICY], "minio");
	for (size_t i = 0; i < SETTINGS_COUNT; i++)
		if (settings_keys[i] != NULL && given[i] != NULL)
			settings_put(to, settings_keys[i], given[i]);
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
