/* differences_set.c - differences in settings and between machines. */
#include "models/compare/difference_kinds.h"

#include <string.h>

#define OTHERS .1 /* of the cores */

/* ---- settings that are numbers ---- */

enum source { WHOLE, REAL };

#define SET(name, fetch, prep, copy, compute, unit)                                    \
	{                                                                              \
		name, DIFFERENCE_SET, BY_STAGE(fetch, prep, copy, compute), unit,      \
			DIFFERENCE_EXACT                                               \
	}
#define AT(source, member, none) source, offsetof(struct profile, member), none

static const struct setting {
	struct difference_kind kind;
	enum source source;
	size_t at;
	double none; /* what NAN stands for */
} settings[] = {
	{SET("batch", EITHER, EITHER, EITHER, EITHER, AMOUNT_COUNT),
	 AT(WHOLE, batch, NAN)},
	{SET("workers", 0, FAST, 0, 0, AMOUNT_COUNT), AT(WHOLE, workers, NAN)},
	{SET("cores", FAST, FAST, 0, FAST, AMOUNT_COUNT), AT(WHOLE, cores, NAN)},
	{SET("reads in flight", FAST, 0, 0, 0, AMOUNT_COUNT),
	 AT(WHOLE, fetch_depth, NAN)},
	{SET("batches prefetched", FAST, FAST, FAST, 0, AMOUNT_COUNT),
	 AT(WHOLE, prefetch, NAN)},
	{SET("capacity of the cache", FAST, 0, 0, 0, AMOUNT_BYTES),
	 AT(WHOLE, cache_capacity_bytes, NAN)},
	{SET("emulated bandwidth of the storage", FAST, 0, 0, 0, AMOUNT_BYTES_PER_S),
	 AT(REAL, storage_bandwidth, INFINITY)},
	{SET("emulated latency of the storage", SLOW, 0, 0, 0, AMOUNT_SECONDS),
	 AT(REAL, storage_latency_s, 0)},
	{SET("emulated delay of prep", 0, SLOW, 0, 0, AMOUNT_SECONDS),
	 AT(REAL, prep_delay_s, 0)},
	{SET("emulated accelerator", 0, 0, 0, FAST, AMOUNT_SAMPLES_PER_S),
	 AT(REAL, emulated_per_s, NAN)},
};

static const struct difference_kind jobs_at_once =
	SET("jobs at once", SLOW, SLOW, SLOW, SLOW, AMOUNT_COUNT);

static double differences_set_setting_of(const struct setting *setting,
					 const struct profile *profile)
{
	const void *at = (const char *)profile + setting->at;
	double value = setting->source == WHOLE
			       ? difference_known(*(const uint64_t *)at)
			       : *(const double *)at;

	return isnan(value) ? setting->none : value;
}

/* What was loaded is unknown of a run that never got that far. */
static bool was_loaded(const struct profile *profile)
{
	return profile_word_known(&profile->engine) || profile->batch != UNKNOWN;
}

/* A run alone has none in its list. */
static double differences_set_jobs_of(const struct profile *profile)
{
	return profile->job_count == 0 ? 1 : (double)profile->job_count;
}

static void numbers_set(struct differences *all, const struct profile *base,
			const struct profile *now)
{
	if (!was_loaded(base) || !was_loaded(now))
		return;
	difference_number(all, &jobs_at_once, differences_set_jobs_of(base),
			  differences_set_jobs_of(now));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct difference_kind kind = settings[i].kind;

		/* what the loader found itself differs from run to run */
		if (settings[i].at == offsetof(struct profile, fetch_depth) &&
		    base->fetch_depth_auto && now->fetch_depth_auto)
			kind.rank = DIFFERENCE_BESIDE;
		difference_number(all, &kind,
				  differences_set_setting_of(&settings[i], base),
				  differences_set_setting_of(&settings[i], now));
	}
}

/* ---- settings that are words ---- */

/* Whether dsa was told the engine, last of all: "workers=2,fetch=pread", and not
 * "prefetch=4" or "fetch=auto". */
static bool differences_set_asked(const struct profile *profile)
{
	const size_t key = strlen("fetch=");
	bool asked = false;

	for (const char *at = profile->loader; at != NULL;) {
		const char *comma = strchr(at, ',');
		size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);

		if (strncmp(at, "fetch=", key) == 0)
			asked = length != key + 4 || strncmp(at + key, "auto", 4) != 0;
		at = comma != NULL ? comma + 1 : NULL;
	}
	return asked;
}

/* "uring-direct: 655 MB/s against pread-direct 621": by a trial, and not as asked.
 * Baselines do not say why. */
static bool differences_set_chosen(const struct profile *profile)
{
	if (profile->engine_reason == NULL)
		return profile->loader != NULL && !differences_set_asked(profile);
	return strstr(profile->engine_reason, " MB/s") != NULL;
}

/* Two engines that are about as fast are chosen by chance: one that was chosen anew
 * explains what else was found, and is nothing by itself. */
static void differences_set_engine(struct differences *all, const struct profile *base,
				   const struct profile *now)
{
	const struct difference_words kind = {
		"fetch engine",
		differences_set_chosen(base) && differences_set_chosen(now)
			? DIFFERENCE_BESIDE
			: DIFFERENCE_SET,
		BY_STAGE(true, false, false, false)};
	const char *engine = profile_word(profile_engines, &now->engine);
	struct difference *found = difference_words(
		all, &kind, profile_word(profile_engines, &base->engine), engine);
	const char *why = now->engine_reason;
	size_t length;

	if (found == NULL || why == NULL)
		return;
	length = strlen(engine);
	if (strncmp(why, engine, length) == 0 && why[length] == ':')
		why += length + 1 + strspn(why + length + 1, " ");
	differences_append(found->text, sizeof(found->text), " (%s)", why);
}

/* NULL: not known. */
static const char *differences_set_flag(const struct profile *profile, bool flag)
{
	return !was_loaded(profile) ? NULL : flag ? "yes" : "no";
}

static const char *differences_set_device(const struct profile *profile)
{
	return !was_loaded(profile)      ? NULL
	       : profile->device == NULL ? "none"
					 : profile->device;
}

#define WORDS(name, fetch, prep, copy, compute, base, now)                             \
	{                                                                              \
		{name, DIFFERENCE_SET, BY_STAGE(fetch, prep, copy, compute)}, base,    \
			now                                                            \
	}
#define TEXT(name, fetch, prep, copy, compute, member)                                 \
	WORDS(name, fetch, prep, copy, compute, base->member, now->member)
#define FLAG(name, fetch, prep, copy, compute, is)                                     \
	WORDS(name, fetch, prep, copy, compute, differences_set_flag(base, base->is),  \
	      differences_set_flag(now, now->is))

static void words_set(struct differences *all, const struct profile *base,
		      const struct profile *now)
{
	const struct {
		struct difference_words words;
		const char *base, *now;
	} table[] = {
		WORDS("cache", true, false, false, false,
		      profile_word(profile_caches, &base->cache),
		      profile_word(profile_caches, &now->cache)),
		TEXT("prep", false, true, false, true, prep),
		TEXT("output of prep", false, true, true, true, output),
		FLAG("storage is memory", true, false, false, false, storage_is_memory),
		FLAG("huge pages", false, true, true, true, huge_pages),
		WORDS("device", false, true, true, true, differences_set_device(base),
		      differences_set_device(now)),
		TEXT("memory that is copied to the device", false, false, true, false,
		     device_memory),
		TEXT("transfer to the device", false, true, true, true, transfer),
		WORDS("emulated accelerator", false, false, false, true,
		      differences_set_flag(base, isfinite(base->emulated_per_s)),
		      differences_set_flag(now, isfinite(now->emulated_per_s))),
		FLAG("one loader for all jobs", true, true, true, true, shared),
	};

	differences_set_engine(all, base, now);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		difference_words(all, &table[i].words, table[i].base, table[i].now);
}

void differences_of_settings(struct differences *all, const struct profile *base,
			     const struct profile *now)
{
	numbers_set(all, base, now);
	words_set(all, base, now);
}

/* ---- the machine ---- */

/* A machine that has no GPU has no fact of it. */
static const char *differences_set_fact(const struct profile *profile, const char *key)
{
	const char *fact = profile_fact_of(profile, key);

	return fact == NULL && profile->fact_count > 0 && strcmp(key, "gpu") == 0
		       ? "none"
		       : fact;
}

/* They slow any stage; less than so much of a difference hardly shows. */
static void differences_set_others(struct differences *all, const struct profile *base,
				   const struct profile *now)
{
	static const struct difference_kind others = {
		"CPU time of other programs", DIFFERENCE_BESIDE,
		BY_STAGE(SLOW, SLOW, SLOW, SLOW), AMOUNT_SHARE, DIFFERENCE_EXACT};
	double was = base->busy.others_cpu_share, is = now->busy.others_cpu_share;

	if (fabs(is - was) >= OTHERS)
		difference_number(all, &others, was, is);
}

void differences_of_machines(struct differences *all, const struct profile *base,
			     const struct profile *now)
{
	static const struct {
		const char *key;
		struct difference_words words;
	} table[] = {
#define WHERE(key, name, rank, fetch, prep, device)                                    \
	{                                                                              \
		key,                                                                   \
		{                                                                      \
			name, DIFFERENCE_##rank, BY_STAGE(fetch, prep, device, device) \
		}                                                                      \
	}
		WHERE("cpu", "CPU", MACHINE, true, true, true),
		WHERE("gpu", "GPU", MACHINE, false, false, true),
		WHERE("gpu_count", "number of GPUs", MACHINE, false, false, true),
		WHERE("dataset_storage", "storage", MACHINE, true, false, false),
		WHERE("dataset_filesystem", "file system", MACHINE, true, false, false),
		WHERE("dataset_device", "device of the data", BESIDE, true, false,
		      false),
		WHERE("memory", "memory", BESIDE, true, false, false),
		WHERE("memory_limit", "limit of memory", BESIDE, true, false, false),
		WHERE("cpu_governor", "CPU governor", BESIDE, true, true, true),
		WHERE("cpu_smt", "SMT", BESIDE, true, true, true),
		WHERE("kernel", "kernel", BESIDE, true, true, true),
		WHERE("gpu_driver", "driver of the GPU", BESIDE, false, false, true),
#undef WHERE
	};
	static const struct difference_words version = {
		"dsa", DIFFERENCE_BESIDE, BY_STAGE(true, true, true, true)};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		difference_words(all, &table[i].words,
				 differences_set_fact(base, table[i].key),
				 differences_set_fact(now, table[i].key));
	difference_words(all, &version, base->version, now->version);
	differences_set_others(all, base, now);
}
