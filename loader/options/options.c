/* options.c - reads, checks and merges a loader's settings. */
#include "loader/options.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/number.h"
#include "loader/base/variants.h"
#include "loader/options/options_image.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a key's text becomes a member. */
struct key {
	const char *name;
	int (*set)(struct options *options, const char *value);
	const char *range; /* "1 to 65536", or a choice: for the error */
};

static bool options_copy(char *to, size_t room, const char *text)
{
	return (size_t)snprintf(to, room, "%s", text) < room;
}

static int set_cache_size(struct options *options, const char *value)
{
	options->cache_bytes = 0;
	options->cache_sized = true;
	if (number_percent(value, &options->cache_share))
		return 0;
	options->cache_share = 0;
	return number_size(value, &options->cache_bytes) ? 0 : -EINVAL;
}

static int options_set_prefetch_bytes(struct options *options, const char *value)
{
	return number_size(value, &options->prefetch_bytes) ? 0 : -EINVAL;
}

static int options_set_read_gap(struct options *options, const char *value)
{
	uint64_t bytes;

	if (!number_size(value, &bytes) || bytes > LIMIT_READ_GAP)
		return -EINVAL;
	options->read_gap = bytes;
	return 0;
}

static int set_bandwidth(struct options *options, const char *value)
{
	uint64_t bytes;

	if (!number_rate(value, &bytes))
		return -EINVAL;
	options->storage_bandwidth = (double)bytes;
	return 0;
}

static int options_set_size(struct options *options, const char *value)
{
	unsigned size;

	if (!number_count(value, LIMIT_SIZE, &size))
		return -EINVAL;
	options_image_size(&options->image, size);
	return 0;
}

static int options_set_token_bits(struct options *options, const char *value)
{
	if (choice_find("16|32", value) < 0)
		return -EINVAL;
	options_image_token_bits(&options->image, strcmp(value, "16") == 0 ? 16 : 32);
	return 0;
}

static int options_set_seconds(struct options *options, const char *value)
{
	double seconds;

	if (!number_real(value, &seconds) || seconds <= 0 || seconds > LIMIT_SECONDS)
		return -EINVAL;
	options->image.seconds = seconds;
	return 0;
}

/* "cuda" or "cuda:N". False if the text is neither. */
static bool options_read_device(const char *text, int *device)
{
	uint64_t number;

	*device = -1;
	if (strcmp(text, "cuda") == 0)
		return true;
	if (strncmp(text, "cuda:", 5) != 0 ||
	    !number_whole(text + 5, LIMIT_DEVICES - 1, &number))
		return false;
	*device = (int)number;
	return true;
}

/* Acts on a loader that its program opened for a device alone, whose number stays if this
 * has none. */
static int options_set_device(struct options *options, const char *value)
{
	int device;

	if (!options_read_device(value, &device))
		return -EINVAL;
	if (device >= 0)
		options->device = device;
	return 0;
}

static int options_set_deadline(struct options *options, const char *value)
{
	double seconds;

	if (!number_time(value, &seconds) || seconds <= 0 || seconds > LIMIT_DEADLINE)
		return -EINVAL;
	options->deadline = seconds;
	return 0;
}

static int set_gpu_speed(struct options *options, const char *value)
{
	double speed;

	if (!number_real(value, &speed) || speed < .001 || speed > 1000)
		return -EINVAL;
	options->gpu_speed = speed;
	return 0;
}

#define TEXT(member)                                                                   \
	static int set_##member(struct options *options, const char *value)            \
	{                                                                              \
		return options_copy(options->member, sizeof(options->member), value)   \
			       ? 0                                                     \
			       : -EINVAL;                                              \
	}
#define COUNT(name, member, most)                                                      \
	static int set_##name(struct options *options, const char *value)              \
	{                                                                              \
		return number_count(value, most, &options->member) ? 0 : -EINVAL;      \
	}
#define WHOLE(member)                                                                  \
	static int set_##member(struct options *options, const char *value)            \
	{                                                                              \
		return number_whole(value, UINT64_MAX, &options->member) ? 0           \
									 : -EINVAL;    \
	}
#define CHOICE(name, member, choices)                                                  \
	static int set_##name(struct options *options, const char *value)              \
	{                                                                              \
		int at = choice_find(choices, value);                                  \
                                                                                       \
		if (at >= 0)                                                           \
			options->member = at;                                          \
		return at < 0 ? -EINVAL : 0;                                           \
	}
#define TIME(member, most)                                                             \
	static int set_##member(struct options *options, const char *value)            \
	{                                                                              \
		return number_time(value, &options->member) &&                         \
				       options->member <= (most)                       \
			       ? 0                                                     \
			       : -EINVAL;                                              \
	}

TEXT(dataset)
TEXT(image_feature)
TEXT(label_feature)
TEXT(cache_dir)
TEXT(fetch)
TEXT(cache)
TEXT(prep)
COUNT(batch, batch, LIMIT_BATCH)
COUNT(length, image.length, LIMIT_LENGTH)
COUNT(rate, image.rate, LIMIT_RATE)
COUNT(workers, workers, LIMIT_WORKERS)
COUNT(prefetch, prefetch, LIMIT_PREFETCH)
COUNT(world, world, LIMIT_WORLD)
COUNT(epochs, epochs, UINT32_MAX)
WHOLE(seed)
WHOLE(start_epoch)
WHOLE(start_step)
WHOLE(steps)
CHOICE(in_order, in_order, "0|1")
CHOICE(shuffle, shuffle_blocks, "global|blocks")
CHOICE(drop_last, drop_last, "0|1")
CHOICE(relist, relist, "0|1")
CHOICE(hedge, hedge, "0|1")
CHOICE(evaluate, image.evaluate, "0|1")
CHOICE(on_error, fail, "skip|fail")
CHOICE(alone, alone, "fail|load")
CHOICE(layout, image.layout, "nchw|nhwc")
CHOICE(features, image.features, "waveform|logmel")
CHOICE(transfer, transfer_output, "uint8|output")
TIME(storage_latency, LIMIT_DELAY)
TIME(prep_delay, LIMIT_DELAY)
TIME(takeover, INFINITY)

static int options_set_type(struct options *options, const char *value)
{
	int type = choice_find(ALL_TYPE_NAMES, value);

	if (type < 0)
		return -EINVAL;
	options->image.type = (enum prep_type)type;
	options->typed = true;
	return 0;
}

static int options_set_fetch_depth(struct options *options, const char *value)
{
	options->depth_auto = false;
	return number_count(value, LIMIT_FETCH_DEPTH, &options->fetch_depth) ? 0
									     : -EINVAL;
}

static int set_rank(struct options *options, const char *value)
{
	uint64_t rank;

	if (!number_whole(value, LIMIT_WORLD - 1, &rank))
		return -EINVAL;
	options->rank = (unsigned)rank;
	return 0;
}

static const struct key keys[] = {
	{"dataset", set_dataset, "a path shorter than 4096 bytes"},
	{"batch", set_batch, LIMIT_RANGE(LIMIT_BATCH)},
	{"workers", set_workers, LIMIT_RANGE(LIMIT_WORKERS)},
	{"prefetch", set_prefetch, LIMIT_RANGE(LIMIT_PREFETCH)},
	{"fetch_depth", options_set_fetch_depth, LIMIT_RANGE(LIMIT_FETCH_DEPTH)},
	{"fetch", set_fetch, FETCH_ENGINE_NAMES},
	{"cache", set_cache, LOADER_CACHE_POLICY_NAMES},
	{"cache_dir", set_cache_dir, "a path shorter than 4096 bytes"},
	{"cache_size", set_cache_size, "a size such as 2G, or 0% to 100%"},
	{"seed", set_seed, "a whole number"},
	{"rank", set_rank, "0 to world - 1"},
	{"world", set_world, LIMIT_RANGE(LIMIT_WORLD)},
	{"epochs", set_epochs, "1 to 4294967295"},
	{"start_epoch", set_start_epoch, "a whole number"},
	{"start_step", set_start_step, "a whole number"},
	{"in_order", set_in_order, "0|1"},
	{"shuffle", set_shuffle, "global|blocks"},
	{"read_gap", options_set_read_gap, "bytes such as 64K, up to 1G"},
	{"drop_last", set_drop_last, "0|1"},
	{"evaluate", set_evaluate, "0|1"},
	{"on_error", set_on_error, "skip|fail"},
	{"relist", set_relist, "0|1"},
	{"deadline", options_set_deadline, "a time up to 1h such as 60s"},
	{"prefetch_bytes", options_set_prefetch_bytes, "a size such as 64M, or 0"},
	{"hedge", set_hedge, "0|1"},
	{"image_feature", set_image_feature, "a name shorter than 256 bytes"},
	{"label_feature", set_label_feature, "a name shorter than 256 bytes"},
	{"prep", set_prep, PREP_OP_NAMES},
	{"size", options_set_size, LIMIT_RANGE(LIMIT_SIZE)},
	{"layout", set_layout, "nchw|nhwc"},
	{"type", options_set_type, ALL_TYPE_NAMES},
	{"length", set_length, LIMIT_RANGE(LIMIT_LENGTH)},
	{"token_bits", options_set_token_bits, "16|32"},
	{"seconds", options_set_seconds, "a number up to " LIMIT_TEXT(LIMIT_SECONDS)},
	{"rate", set_rate, LIMIT_RANGE(LIMIT_RATE)},
	{"features", set_features, "waveform|logmel"},
	{"storage_bandwidth", set_bandwidth, "bytes/s such as 500M, or 0"},
	{"storage_latency", set_storage_latency, "a time up to 1h such as 5ms, or 0"},
	{"prep_delay", set_prep_delay, "a time up to 1h such as 2ms, or 0"},
	{"gpu_speed", set_gpu_speed, "a factor from 0.001 to 1000"},
	{"steps", set_steps, "a whole number, or 0 for no limit"},
	{"alone", set_alone, "load|fail"},
	{"takeover", set_takeover, "a time such as 10s"},
	{"device", options_set_device, "cuda, or as cuda:1"},
	{"transfer", set_transfer, "uint8|output"},
};

static const struct key *options_find_key(const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static int options_set(struct options *options, const struct key *key,
		       const char *value, struct error *err)
{
	char range[CHOICE_TEXT];

	if (key->set(options, value) == 0)
		return 0;
	return error_set(err, EINVAL, "is %s, not '%s'",
			 choice_list(key->range, " or ", range), value);
}

int options_check_value(const char *key, const char *value, struct error *err)
{
	struct options options = {0};

	return options_set(&options, options_find_key(key), value, err);
}

static int set_key(struct options *options, const char *name, const char *value,
		   struct error *err)
{
	const struct key *key = options_find_key(name);
	struct error why = {0};

	if (key == NULL)
		return error_set(err, EINVAL, "DSA_LOADER: there is no key '%s'", name);
	if (options_set(options, key, value, &why) == 0)
		return 0;
	return error_set(err, EINVAL, "DSA_LOADER: %s %s", name, why.message);
}

/* Turns %XX into bytes, in place. False when a % is not followed by two digits. */
static bool options_decode(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		if (*text == '%' && isxdigit((unsigned char)text[1]) &&
		    isxdigit((unsigned char)text[2])) {
			char digits[3] = {text[1], text[2], '\0'};

			*to++ = (char)strtoul(digits, NULL, 16);
			text += 2;
		} else if (*text == '%' && text[1] != '\0') {
			return false;
		} else {
			*to++ = *text; /* "35%" ends with a plain one */
		}
	}
	*to = '\0';
	return true;
}

static int apply_text(struct options *options, const char *text, struct error *err)
{
	char *copied = strdup(text), *rest = copied, *item;
	int result = 0;

	if (copied == NULL)
		return error_sys(err, ENOMEM, "cannot read DSA_LOADER");
	while (result == 0 && (item = strsep(&rest, ",")) != NULL) {
		char *value = strchr(item, '=');

		if (*item == '\0')
			continue;
		if (value == NULL) {
			result = error_set(err, EINVAL,
					   "DSA_LOADER: '%s' is no key=value", item);
			break;
		}
		*value++ = '\0';
		result = options_decode(value)
				 ? set_key(options, item, value, err)
				 : error_set(err, EINVAL,
					     "DSA_LOADER: %s: a %% in '%s' is "
					     "not followed by two hex digits",
					     item, value);
	}
	free(copied);
	return result;
}

static unsigned options_usable_cores(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < 1 ? 1 : count > LIMIT_WORKERS ? LIMIT_WORKERS : (unsigned)count;
}

static int options_copy_texts(struct options *options, const struct dsa_config *config,
			      struct error *err)
{
	const struct {
		const char *key, *value;
	} texts[] = {
		{"dataset", config->dataset}, {"fetch", config->fetch},
		{"cache", config->cache},     {"cache_dir", config->cache_dir},
		{"prep", config->prep},       {"cache_size", config->cache_size},
		{"device", config->device},
	};
	struct error why = {0};

	strcpy(options->fetch, "auto");
	strcpy(options->prep, "image");
	options->device = -1;
	options->on_device = config->device != NULL && *config->device != '\0';
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].value == NULL ||
		    (strcmp(texts[i].key, "device") == 0 && !options->on_device))
			continue;
		if (options_set(options, options_find_key(texts[i].key), texts[i].value,
				&why) < 0)
			return error_set(err, EINVAL, "%s %s", texts[i].key,
					 why.message);
	}
	return 0;
}

static void options_copy_numbers(struct options *options,
				 const struct dsa_config *config)
{
	options->batch = config->batch != 0 ? config->batch : 64;
	options->workers =
		config->workers != 0 ? config->workers : options_usable_cores();
	options->prefetch = config->prefetch != 0 ? config->prefetch : 4;
	options->fetch_depth = config->fetch_depth != 0 ? config->fetch_depth : 16;
	options->depth_auto = config->fetch_depth == 0;
	options->seed = config->seed;
	options->rank = config->rank;
	options->world = config->world != 0 ? config->world : 1;
	options->epochs = config->epochs;
	options->start_epoch = config->start_epoch;
	options->start_step = config->start_step;
	options->in_order = config->in_order != 0;
	options->shuffle_blocks = config->shuffle == DSA_BLOCKS;
	options->prefetch_bytes = config->prefetch_bytes;
	options->hedge = config->hedge != 0;
	options->read_gap = config->read_gap != 0 ? config->read_gap : 64 << 10;
	options->drop_last = config->drop_last != 0;
	options->fail = config->on_error == DSA_FAIL;
	options->deadline = config->deadline;
	options->typed = config->type != DSA_FLOAT32;
	options->gpu_speed = 1;
}

/* "none" turns a cache on disk off, too. */
static int options_check_cache(struct options *options, struct error *err)
{
	bool own = strcmp(options->cache, "none") != 0 &&
		   strcmp(options->cache, "page") != 0;

	if (strcmp(options->cache, "none") == 0)
		options->cache_dir[0] = '\0';
	if (options->cache_dir[0] == '\0')
		return options->cache_sized || !own
			       ? 0
			       : error_set(err, EINVAL,
					   "cache=%s: how much may it hold? Set "
					   "cache_size (--cache)",
					   options->cache);
	if (strcmp(options->cache, "page") == 0)
		return error_set(err, EINVAL,
				 "cache=page is the kernel's cache: with cache_dir, "
				 "cache is minio, lru or fifo");
	if (options->cache_bytes == 0 && !(options->cache_share > 0))
		return error_set(err, EINVAL,
				 "cache_dir: how much may the cache there hold? "
				 "Set cache_size");
	return 0;
}

static int options_check(const struct options *options, struct error *err)
{
	if (options->dataset[0] == '\0')
		return error_set(
			err, EINVAL,
			"which data set? dataset is not set, nor --dataset of dsa");
	if (options->rank >= options->world)
		return error_set(err, EINVAL, "rank %u of world %u: rank is 0 to %u",
				 options->rank, options->world, options->world - 1);
	if (!(options->deadline >= 0 && options->deadline <= LIMIT_DEADLINE))
		return error_set(err, EINVAL, "deadline is %d seconds at most, not %g",
				 LIMIT_DEADLINE, options->deadline);
	if (options->read_gap > LIMIT_READ_GAP)
		return error_set(err, EINVAL, "read_gap is at most 1G, not %llu bytes",
				 (unsigned long long)options->read_gap);
	if (options->batch > LIMIT_BATCH || options->workers > LIMIT_WORKERS ||
	    options->prefetch > LIMIT_PREFETCH ||
	    options->fetch_depth > LIMIT_FETCH_DEPTH)
		return error_set(err, EINVAL,
				 "batch is at most %d, workers %d, prefetch %d, "
				 "fetch_depth %d",
				 LIMIT_BATCH, LIMIT_WORKERS, LIMIT_PREFETCH,
				 LIMIT_FETCH_DEPTH);
	return 0;
}

/* When nobody names one. The kernel's would hide a storage that is emulated. */
static const char *default_cache(const struct options *options)
{
	if (options->cache_dir[0] != '\0' || options->cache_bytes > 0 ||
	    options->cache_share > 0)
		return "minio";
	if (options->storage_bandwidth > 0 || options->storage_latency > 0)
		return "none";
	return "page";
}

int options_resolve(struct options *options, const struct dsa_config *config,
		    const char *text, struct error *err)
{
	int result;

	*options = (struct options){0};
	options_copy_numbers(options, config);
	options_image(&options->image, config);
	result = options_copy_texts(options, config, err);
	if (result == 0 && text != NULL)
		result = apply_text(options, text, err);
	if (result < 0)
		return result;
	if (options->cache[0] == '\0')
		strcpy(options->cache, default_cache(options));
	if (strcmp(options->cache, "none") == 0 || strcmp(options->cache, "page") == 0)
		set_cache_size(options, "0"); /* whatever an earlier key said */
	options->image.op = options->prep;
	if (!options->typed && strcmp(options->prep, "tokens") == 0)
		options->image.type = PREP_I64;
	options_image_convert(options);
	result = options_check_cache(options, err);
	return result < 0 ? result : options_check(options, err);
}
