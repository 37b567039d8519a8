/* profile.c - a profile and what it is asked; its tables of words. */
#include "profiler/profile.h"
#include "profiler/profile_fields.h"
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

#define UNKNOWN_SHARE(...) NAN,

void profile_init(struct profile *profile)
{
	*profile = (struct profile){
		.status = PROFILE_NO_WORD,
		.limit = PROFILE_NO_WORD,
		.limit_next = PROFILE_NO_WORD,
		.protocol = PROFILE_NO_WORD,
		.wall_s = NAN,
		.budget_s = NAN,
		.precision = NAN,
		.budget_needed_s = NAN,
		.target_status = -1,
		.loaders = UNKNOWN,
		.rank = UNKNOWN,
		.world = UNKNOWN,
		.requests = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NAN, UNKNOWN,
			     UNKNOWN, UNKNOWN, NAN},
		.shuffle_run = UNKNOWN,
		.shuffle_window = UNKNOWN,
		.shuffle_design_effect = NAN,
		.disk_cache = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
			       NAN},
		.loader_kind = PROFILE_NO_WORD,
		.split = PROFILE_NO_WORD,
		.handover_s = NAN,
		.share_s = NAN,
		PROFILE_DATASET(UNKNOWN_OF) PROFILE_LOADING(UNKNOWN_OF, "")
			PROFILE_STAGES(UNKNOWN_OF, "") PROFILE_COUNTED(UNKNOWN_OF)
				.proof_gap = NAN,
		.prep_waiting = NAN,
		.prep_contention = NAN,
		.outside_s = NAN,
		.outside_share = NAN,
		.overhead = INTERVAL_UNKNOWN,
		.overhead_floor = NAN,
		.hit_ratio = INTERVAL_UNKNOWN,
		.first_epoch_per_s = NAN,
		.cpu_s_per_sample = NAN,
		.program_reads_per_sample = NAN,
		.program_bytes_per_sample = NAN,
		.epoch_starts = UNKNOWN,
		.epoch_start_s = NAN,
		.epoch_end_s = NAN,
		.epoch_saved_s = NAN,
		.mapped_files = UNKNOWN,
		.connections = UNKNOWN,
		.unseen_processes = UNKNOWN,
		.devices_lost = UNKNOWN,
		.coverage = NAN,
		.own_recipe = {.size = UNKNOWN,
			       .cpu_s = INTERVAL_UNKNOWN,
			       .per_s = INTERVAL_UNKNOWN,
			       .pictures = UNKNOWN,
			       .psnr = NAN},
		.files_written_more = UNKNOWN,
		.files_kept = UNKNOWN,
		.files_lost = UNKNOWN,
		.looked_samples = UNKNOWN,
		.skipped = UNKNOWN,
		.dropped_records = UNKNOWN,
		.blocks = UNKNOWN,
		.model = {INTERVAL_UNKNOWN, INTERVAL_UNKNOWN, NAN, NAN, NULL},
		.cost = INTERVAL_UNKNOWN,
		.traffic = PROFILE_NO_TRAFFIC,
		.busy = PROFILE_BUSY_UNKNOWN,
		.together = INTERVAL_UNKNOWN,
		.prep_cpu_per_delivered_s = NAN,
		.device_copy_s = INTERVAL_UNKNOWN,
		.stalls = {STAGE_TABLE(PROFILE_UNKNOWN)},
		.rates = {TRACE_RATED(PROFILE_UNKNOWN)},
		.proof = {.share = {STAGE_TABLE(UNKNOWN_SHARE)},
			  .fetch_half = NAN,
			  .slowed_half = NAN},
	};
}

static void free_texts(struct profile *profile)
{
	char *texts[] = {
		profile->version,
		profile->started,
		profile->status.other,
		profile->status_why,
		profile->protocol.other,
		profile->repeat,
		profile->dataset,
		profile->source,
		profile->digest,
		profile->engine.other,
		profile->engine_reason,
		profile->cache.other,
		profile->prep,
		profile->output,
		profile->features,
		profile->device,
		profile->device_memory,
		profile->transfer,
		profile->proof.basis,
		profile->limit.other,
		profile->limit_next.other,
		profile->limit_why,
		profile->bound_why,
		profile->loader,
		profile->directory,
		profile->model.why,
		profile->currency,
		profile->busy_why,
		profile->put_back,
		profile->asked,
		profile->loader_choice,
		profile->epoch_ends,
		profile->own_recipe.kind,
		profile->own_recipe.type,
		profile->own_recipe.folder,
		profile->own_recipe.lacks,
		profile->own_recipe.code,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	free(profile->loader_kind.other);
	free(profile->split.other);
	free(profile->split_why);
	free(profile->devices_by);
	profile_free_texts(profile->command);
	profile_free_texts(profile->files_written);
	profile_free_texts(profile->lost_files);
}

static void free_arrays(struct profile *profile)
{
	for (size_t i = 0; i < profile->window_count; i++) {
		free(profile->windows[i].kind.other);
		free(profile->windows[i].why);
	}
	for (size_t i = 0; i < profile->skip_count; i++) {
		free(profile->skips[i].name);
		free(profile->skips[i].reason);
	}
	for (size_t i = 0; i < profile->part_count; i++)
		free(profile->parts[i].name);
	for (size_t i = 0; i < profile->slow_count; i++)
		free(profile->slowest[i].file);
	for (size_t i = 0; i < profile->counter_count; i++) {
		free(profile->counters[i].stage);
		free(profile->counters[i].name);
		free(profile->counters[i].rung);
	}
	for (size_t i = 0; i < profile->process_count; i++)
		free(profile->processes[i].role);
	for (size_t i = 0; i < profile->device_count; i++)
		free(profile->devices[i].kind.other);
	for (size_t i = 0; i < profile->fact_count; i++) {
		free(profile->environment[i].key);
		free(profile->environment[i].value);
	}
}

void profile_prediction_free(struct profile_prediction *prediction)
{
	profile_change_free(&prediction->change);
	free(prediction->limit.other);
	free(prediction->advice);
	free(prediction->why);
	free(prediction->command);
	prediction->limit = PROFILE_NO_WORD;
	prediction->advice = NULL;
	prediction->why = prediction->command = NULL;
}

void profile_drop_predictions(struct profile *profile)
{
	for (size_t i = 0; i < profile->prediction_count; i++)
		profile_prediction_free(&profile->predictions[i]);
	free(profile->predictions);
	profile->predictions = NULL;
	profile->prediction_count = 0;
}

static void drop_verifications(struct profile *profile)
{
	for (size_t i = 0; i < profile->verification_count; i++) {
		profile_change_free(&profile->verifications[i].change);
		free(profile->verifications[i].when);
		free(profile->verifications[i].why);
	}
	free(profile->verifications);
}

void profile_free(struct profile *profile)
{
	free_texts(profile);
	free_arrays(profile);
	profile_drop_predictions(profile);
	drop_verifications(profile);
	free(profile->draws);
	for (size_t i = 0; i < profile->recipe_count; i++)
		profile_change_free(&profile->recipes[i].change);
	free(profile->recipes);
	for (size_t i = 0; i < profile->job_count; i++) {
		free(profile->jobs[i].command);
		free(profile->jobs[i].waits_for);
		free(profile->jobs[i].why);
	}
	free(profile->jobs);
	free(profile->windows);
	free(profile->prep_curve);
	free(profile->fetch_curve);
	free(profile->fetch_s.count);
	free(profile->prep_s.count);
	free(profile->bytes.count);
	free(profile->epochs);
	free(profile->skips);
	free(profile->parts);
	free(profile->slowest);
	free(profile->counters);
	free(profile->processes);
	free(profile->devices);
	free(profile->ranks);
	free(profile->environment);
	profile_init(profile);
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
			      const struct interval stalls[STAGES])
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
