/* differences_set.c - what was set differently, and on which machine. */
#include "models/compare/difference_kinds.h"

#include <stdio.h>
#include <string.h>

/* ---- settings that are numbers ---- */

enum source { WHOLE, REAL };

static const struct setting {
	struct difference_kind kind;
	enum source source;
	size_t at;
	double none; /* what NAN stands for */
} settings[] = {
#define WHOLE_NUMBER(name, member, fetch, prep, compute, unit)                         \
	{                                                                              \
		{name, DIFFERENCE_SET, BY_STAGE(fetch, prep, compute), unit,           \
		 DIFFERENCE_EXACT},                                                    \
			WHOLE, offsetof(struct profile, member), NAN                   \
	}
#define REAL_NUMBER(name, member, fetch, prep, compute, unit, none)                    \
	{                                                                              \
		{name, DIFFERENCE_SET, BY_STAGE(fetch, prep, compute), unit,           \
		 DIFFERENCE_EXACT},                                                    \
			REAL, offsetof(struct profile, member), none                   \
	}
	WHOLE_NUMBER("batch", batch, EITHER, EITHER, EITHER, AMOUNT_COUNT),
	WHOLE_NUMBER("workers", workers, 0, FAST, 0, AMOUNT_COUNT),
	WHOLE_NUMBER("cores", cores, FAST, FAST, FAST, AMOUNT_COUNT),
	WHOLE_NUMBER("reads in flight", fetch_depth, FAST, 0, 0, AMOUNT_COUNT),
	WHOLE_NUMBER("batches prefetched", prefetch, FAST, FAST, 0, AMOUNT_COUNT),
	WHOLE_NUMBER("capacity of the cache", cache_capacity_bytes, FAST, 0, 0,
		     AMOUNT_BYTES),
	REAL_NUMBER("emulated bandwidth of the storage", storage_bandwidth, FAST, 0, 0,
		    AMOUNT_BYTES_PER_S, INFINITY),
	REAL_NUMBER("emulated latency of the storage", storage_latency_s, SLOW, 0, 0,
		    AMOUNT_SECONDS, 0),
	REAL_NUMBER("emulated delay of prep", prep_delay_s, 0, SLOW, 0, AMOUNT_SECONDS,
		    0),
	REAL_NUMBER("emulated accelerator", emulated_per_s, 0, 0, FAST,
		    AMOUNT_SAMPLES_PER_S, NAN),
#undef WHOLE_NUMBER
#undef REAL_NUMBER
};

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
	return profile->engine != NULL || profile->batch != UNKNOWN;
}

/* A run alone has none in its list. */
static double differences_set_jobs_of(const struct profile *profile)
{
	return profile->job_count == 0 ? 1 : (double)profile->job_count;
}

static void numbers_set(struct differences *all, const struct profile *base,
			const struct profile *now)
{
	static const struct difference_kind jobs = {"jobs at once", DIFFERENCE_SET,
						    BY_STAGE(SLOW, SLOW, SLOW),
						    AMOUNT_COUNT, DIFFERENCE_EXACT};

	if (!was_loaded(base) || !was_loaded(now))
		return;
	difference_number(all, &jobs, differences_set_jobs_of(base),
			  differences_set_jobs_of(now));
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		difference_number(all, &settings[i].kind,
				  differences_set_setting_of(&settings[i], base),
				  differences_set_setting_of(&settings[i], now));
}

/* ---- settings that are words ---- */

static void differences_set_engine(struct differences *all, const struct profile *base,
				   const struct profile *now)
{
	static const struct difference_words kind = {"fetch engine", DIFFERENCE_SET,
						     BY_STAGE(true, false, false)};
	struct difference *found =
		difference_words(all, &kind, base->engine, now->engine);
	const char *why = now->engine_reason;
	size_t length;

	if (found == NULL || why == NULL)
		return;
	length = strlen(now->engine);
	if (strncmp(why, now->engine, length) == 0 && why[length] == ':')
		why += length + 1 + strspn(why + length + 1, " ");
	differences_append(found->text, sizeof(found->text), " (%s)", why);
}

static const char *yes_or_no(bool flag)
{
	return flag ? "yes" : "no";
}

static void words_set(struct differences *all, const struct profile *base,
		      const struct profile *now)
{
	static const struct difference_words cache = {"cache", DIFFERENCE_SET,
						      BY_STAGE(true, false, false)};
	static const struct difference_words prep = {"prep", DIFFERENCE_SET,
						     BY_STAGE(false, true, true)};
	static const struct difference_words output = {"output of prep", DIFFERENCE_SET,
						       BY_STAGE(false, true, true)};
	static const struct difference_words memory = {
		"storage is memory", DIFFERENCE_SET, BY_STAGE(true, false, false)};
	static const struct difference_words pages = {"huge pages", DIFFERENCE_SET,
						      BY_STAGE(false, true, true)};
	static const struct difference_words accelerator = {
		"emulated accelerator", DIFFERENCE_SET, BY_STAGE(false, false, true)};
	static const struct difference_words shared = {
		"one loader for all jobs", DIFFERENCE_SET, BY_STAGE(true, true, true)};

	differences_set_engine(all, base, now);
	difference_words(all, &cache, base->cache, now->cache);
	difference_words(all, &prep, base->prep, now->prep);
	difference_words(all, &output, base->output, now->output);
	if (!was_loaded(base) || !was_loaded(now))
		return;
	difference_words(all, &memory, yes_or_no(base->storage_is_memory),
			 yes_or_no(now->storage_is_memory));
	difference_words(all, &pages, yes_or_no(base->huge_pages),
			 yes_or_no(now->huge_pages));
	difference_words(all, &accelerator, yes_or_no(isfinite(base->emulated_per_s)),
			 yes_or_no(isfinite(now->emulated_per_s)));
	difference_words(all, &shared, yes_or_no(base->shared), yes_or_no(now->shared));
}

void differences_of_settings(struct differences *all, const struct profile *base,
			     const struct profile *now)
{
	numbers_set(all, base, now);
	words_set(all, base, now);
}

/* ---- the machine ---- */

void differences_of_machines(struct differences *all, const struct profile *base,
			     const struct profile *now)
{
	static const struct {
		const char *key;
		struct difference_words words;
	} table[] = {
		{"cpu", {"CPU", DIFFERENCE_MACHINE, BY_STAGE(true, true, true)}},
		{"dataset_storage",
		 {"storage", DIFFERENCE_MACHINE, BY_STAGE(true, false, false)}},
		{"dataset_filesystem",
		 {"file system", DIFFERENCE_MACHINE, BY_STAGE(true, false, false)}},
		{"dataset_device",
		 {"device of the data", DIFFERENCE_BESIDE,
		  BY_STAGE(true, false, false)}},
		{"memory", {"memory", DIFFERENCE_BESIDE, BY_STAGE(true, false, false)}},
		{"memory_limit",
		 {"limit of memory", DIFFERENCE_BESIDE, BY_STAGE(true, false, false)}},
		{"cpu_governor",
		 {"CPU governor", DIFFERENCE_BESIDE, BY_STAGE(true, true, true)}},
		{"cpu_smt", {"SMT", DIFFERENCE_BESIDE, BY_STAGE(true, true, true)}},
		{"kernel", {"kernel", DIFFERENCE_BESIDE, BY_STAGE(true, true, true)}},
	};
	static const struct difference_words version = {"dsa", DIFFERENCE_BESIDE,
							BY_STAGE(true, true, true)};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		difference_words(all, &table[i].words,
				 profile_fact_of(base, table[i].key),
				 profile_fact_of(now, table[i].key));
	difference_words(all, &version, base->version, now->version);
}
