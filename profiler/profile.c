/* profile.c - a profile and what it is asked; its tables of words. */
#include "profiler/profile.h"
#include "profiler/profile_prediction.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_NARROW .04 /* share: an interval so wide tells even of no wait; */

const char *const profile_kinds[TRACE_KINDS + 1] = {
#define KIND_NAME(id, name) [TRACE_##id] = (name),
	TRACE_RATED(KIND_NAME)
#undef KIND_NAME
		[TRACE_FILL] = "fill",
};

const char *const profile_statuses[STATUSES + 1] = {
	[STATUS_COMPLETE] = "complete",
	[STATUS_BUDGET] = "budget",
	[STATUS_REQUESTS] = "requests",
	[STATUS_STEPS] = "steps",
	[STATUS_VOID] = "void",
	[STATUS_INTERRUPTED] = "interrupted",
	[STATUS_TARGET_ENDED] = "target ended",
	[STATUS_TARGET_DIED] = "target died",
	[STATUS_NO_BATCH] = "no batch",
	[STATUS_TARGET_HUNG] = "target hung",
	[STATUS_DSA_DIED] = "dsa died",
};

const char *const profile_limits[PROFILE_LIMITS + 1] = {
#define LIMIT_NAME(id, key, ...) [STAGE_##id] = key,
	STAGE_TABLE(LIMIT_NAME)
#undef LIMIT_NAME
		[LIMITED_BY_CORES] = "cores",
};

const char *const profile_protocols[MEASURE_PROTOCOLS + 1] = {
	[MEASURE_INTERLEAVED] = "interleaved", [MEASURE_SEPARATE] = "separate",
	[MEASURE_OBSERVE] = "observe",         [MEASURE_COUNTED] = "counted",
	[MEASURE_REPETITION] = "repetition",
};

const char *const profile_loaders[PROFILE_LOADERS + 1] = {
	[LOADER_DSA] = "dsa",
	[LOADER_TORCH] = "torch",
	[LOADER_WATCH] = "watch",
};

const char *const profile_splits[PROFILE_SPLITS + 1] = {
	[SPLIT_REPLAY] = "replay",
	[SPLIT_MEMORY] = "memory",
	[SPLIT_STORAGE] = "storage",
	[SPLIT_NONE] = "none",
};

#define CACHE_NAME(name, NAME)              #name,
#define ENGINE_NAME(name, text, one_thread) text,
const char *const profile_caches[CACHE_IDS + 1] = {CACHE_POLICIES(CACHE_NAME)};
#define TYPE_NAME(NAME, text, bytes) text,
const char *const profile_engines[] = {FETCH_ENGINES(ENGINE_NAME) NULL};
const char *const profile_types[] = {PREP_TYPES(TYPE_NAME) NULL};

const char *profile_word(const char *const *table, const struct profile_word *word)
{
	return word->id >= 0 ? table[word->id] : word->other;
}

int profile_word_set(struct profile_word *word, const char *const *table,
		     const char *text)
{
	free(word->other);
	*word = PROFILE_NO_WORD;
	for (int i = 0; table[i] != NULL; i++)
		if (strcmp(table[i], text) == 0) {
			word->id = i;
			return 0;
		}
	return profile_text(&word->other, "%s", text);
}

bool profile_word_known(const struct profile_word *word)
{
	return word->id >= 0 || word->other != NULL;
}

bool profile_word_equal(const struct profile_word *a, const struct profile_word *b)
{
	return a->id == b->id &&
	       (a->other == b->other || (a->other != NULL && b->other != NULL &&
					 strcmp(a->other, b->other) == 0));
}

int profile_word_copy(struct profile_word *to, const struct profile_word *from)
{
	*to = (struct profile_word){from->id, NULL};
	return profile_copy_text(&to->other, from->other);
}

/* Width of a share's interval; 0: it has none. */
static double share_width(struct interval share)
{
	double width = fmin(1, share.high) - fmax(0, share.low);

	return isfinite(share.low) && isfinite(share.high) ? width : 0;
}

/* The widest interval that still answers: as wide as the wait itself. */
static double answer_width(const struct profile *profile)
{
	return fmax(ANSWER_NARROW, 1 - profile->stalls[STAGE_COMPUTE].value);
}

bool profile_stalls_are_vague(const struct profile *profile,
			      const struct interval *stalls)
{
	bool vague = profile->busy.kept && !profile_is_observed(profile) &&
		     !isfinite(stalls[STAGE_COMPUTE].low);

	for (int i = 0; i < STAGES; i++)
		vague |= interval_reach(stalls[i]) >= PROFILE_VAGUE ||
			 fabs(stalls[i].value - .5) > .5 + PROFILE_VAGUE;
	return vague;
}

bool profile_is_vague(const struct profile *profile)
{
	return profile_stalls_are_vague(profile, profile->stalls);
}

bool profile_has_answer(const struct profile *profile)
{
	return !profile_is_vague(profile) &&
	       share_width(profile->stalls[STAGE_COMPUTE]) <= answer_width(profile);
}

bool profile_tells_limit(const struct profile *profile, int stage)
{
	double sure = fmax(ANSWER_NARROW, profile->stalls[stage].low);

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		if (i != stage && profile->stalls[i].low <= 0 &&
		    profile->stalls[i].high > sure)
			return false;
	return true;
}

bool profile_has_shares(const struct profile *profile)
{
	for (int i = 0; i < STAGES; i++)
		if (share_width(profile->stalls[i]) > answer_width(profile))
			return false;
	return profile_has_answer(profile);
}

bool profile_is_observed(const struct profile *profile)
{
	return profile->protocol.id == MEASURE_OBSERVE;
}

int profile_loader(const struct profile *profile)
{
	return profile_word_known(&profile->loader_kind) ? profile->loader_kind.id
							 : LOADER_DSA;
}

bool profile_has_own_cache(const struct profile *profile)
{
	return profile_word_known(&profile->cache) && profile->cache.id != CACHE_NONE &&
	       profile->cache.id != CACHE_PAGE;
}

bool profile_has_stage(const struct profile *profile, int stage)
{
	return !stage_table[stage].optional || isfinite(profile->stalls[stage].value);
}

double profile_measured_s(const struct profile_window *window)
{
	return window->length_s - (window->outside_s > 0 ? window->outside_s : 0);
}

double profile_quotient(uint64_t count, uint64_t of)
{
	return count == UNKNOWN || of == UNKNOWN || of == 0
		       ? NAN
		       : (double)count / (double)of;
}

const struct profile_part *profile_part_of(const struct profile *profile,
					   const char *name)
{
	for (size_t i = 0; i < profile->part_count; i++) {
		const struct profile_part *part = &profile->parts[i];

		if (part->name != NULL && name != NULL && part->mean_s >= 0 &&
		    strcmp(part->name, PROFILE_HANDOVER) != 0 &&
		    strcmp(part->name, name) == 0)
			return part;
	}
	return NULL;
}

const char *profile_fact_of(const struct profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->fact_count; i++)
		if (strcmp(profile->environment[i].key, key) == 0)
			return profile->environment[i].value;
	return NULL;
}

bool profile_can_repeat(const struct profile *profile)
{
	if (profile->command == NULL || profile->command[0] == NULL)
		return false;
	for (char *const *word = profile->command; *word != NULL; word++)
		if (strstr(*word, PROFILE_LOST) != NULL)
			return false;
	return true;
}

int profile_text(char **text, const char *format, ...)
{
	char *fresh = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&fresh, format, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	free(*text);
	*text = fresh;
	return 0;
}

int profile_copy_text(char **text, const char *from)
{
	return from == NULL ? 0 : profile_text(text, "%s", from);
}

char **profile_copy_texts(char *const *from)
{
	size_t count = 0;
	char **texts;

	while (from[count] != NULL)
		count++;
	texts = calloc(count + 1, sizeof(*texts));
	for (size_t i = 0; texts != NULL && i < count; i++)
		if (profile_copy_text(&texts[i], from[i]) < 0) {
			profile_free_texts(texts);
			return NULL;
		}
	return texts;
}

void profile_free_texts(char *const *texts)
{
	for (char *const *text = texts; text != NULL && *text != NULL; text++)
		free(*text);
	free((void *)(uintptr_t)texts);
}

int profile_set_fact(struct profile *profile, const char *key, const char *value)
{
	struct profile_fact *fact = profile_add_fact(profile);

	if (fact != NULL && profile_text(&fact->key, "%s", key) == 0 &&
	    profile_text(&fact->value, "%s", value) == 0)
		return 0;
	if (fact != NULL) {
		free(fact->key);
		profile->fact_count--;
	}
	return -ENOMEM;
}
