/* field.c - the tables of fields: every key of run.json; and what goes over all of them. */
#include "profiler/field.h"
#include "profiler/profile_fields.h"
#include "profiler/profile_prediction.h"

#include <stdlib.h>
#include <string.h>

#define AT(path, type, member)   FIELD_AT(profile, path, type, member)
#define LINE(path, type, member) AT(path, type, member),

/* What each stage and each kind of window has, of a profile and what is in it. */
#define FIELD_STALL(id, key, ...) AT("stalls." key, SHARE, stalls[STAGE_##id]),
#define FIELD_RATE(id, name)      AT("rates." name "_per_s", ESTIMATE, rates[TRACE_##id]),
#define FIELD_PROOF(id, key, ...)                                                      \
	AT("second_proof." key ".share", NUMBER, proof.share[STAGE_##id]),

#define TRAFFIC                                                                        \
	AT("epoch.reads", NUMBER, traffic.reads),                                      \
		AT("epoch.listing", NUMBER, traffic.listing),                          \
		AT("epoch.out_bytes", NUMBER, traffic.out_bytes)

const struct field field_profile[] = {
	AT("version", TEXT, version),
	AT("run.started", TEXT, started),
	AT("run.status", STATUS, status),
	AT("run.status_why", TEXT, status_why),
	AT("run.protocol", PROTOCOL, protocol),
	AT("run.command", WORDS, command),
	AT("run.repeat", TEXT, repeat),
	AT("run.loader", TEXT, loader),
	AT("run.asked", TEXT, asked),
	AT("run.loader_choice", TEXT, loader_choice),
	AT("run.epoch_ends", TEXT, epoch_ends),
	AT("run.directory", TEXT, directory),
	AT("run.wall_s", NUMBER, wall_s),
	AT("run.budget_s", NUMBER, budget_s),
	AT("run.budget_needed_s", NUMBER, budget_needed_s),
	AT("run.precision_share", NUMBER, precision),
	AT("run.target_status", INDEX, target_status),
	AT("run.seed", COUNT, seed),
	AT("run.blocks", COUNT, blocks),
	AT("run.skipped_samples", COUNT, skipped),
	AT("run.dropped_records", COUNT, dropped_records),
	AT("dataset.path", TEXT, dataset),
	PROFILE_DATASET(LINE) PROFILE_LOADING(LINE, "configuration.")
		AT("configuration.engine_reason", TEXT, engine_reason),
	AT("configuration.features", TEXT, features),
	AT("configuration.shuffle_run", COUNT, shuffle_run),
	AT("configuration.shuffle_window", COUNT, shuffle_window),
	AT("configuration.shuffle_design_effect", NUMBER, shuffle_design_effect),
	AT("configuration.loaders", COUNT, loaders),
	AT("configuration.beside", COUNT, beside),
	AT("configuration.rank", COUNT, rank),
	AT("configuration.world", COUNT, world),
	AT("requests.gets", COUNT, requests.gets),
	AT("requests.retries", COUNT, requests.retries),
	AT("requests.lost", COUNT, requests.lost),
	AT("requests.hedges", COUNT, requests.hedges),
	AT("requests.listing", COUNT, requests.listing),
	AT("requests.listing_age_s", NUMBER, requests.listing_age_s),
	AT("requests.bytes", COUNT, requests.bytes),
	AT("requests.most", COUNT, requests.most),
	AT("requests.needed", COUNT, requests.needed),
	AT("requests.cost", NUMBER, requests.cost),
	AT("disk_cache.hits", COUNT, disk_cache.hits),
	AT("disk_cache.written", COUNT, disk_cache.written),
	AT("disk_cache.refused", COUNT, disk_cache.refused),
	AT("disk_cache.dropped", COUNT, disk_cache.dropped),
	AT("disk_cache.stale", COUNT, disk_cache.stale),
	AT("disk_cache.full", COUNT, disk_cache.full),
	AT("disk_cache.hit_s", NUMBER, disk_cache.hit_s),
	AT("loader.kind", LOADER, loader_kind),
	AT("loader.untrained", YES, untrained),
	AT("loader.reads_ahead", YES, reads_ahead),
	AT("loader.handover_s", NUMBER, handover_s),
	AT("loader.share_s", NUMBER, share_s),
	AT("loader.unpickle_s", NUMBER, unpickle_s),
	PROFILE_STAGES(LINE, "configuration.") STAGE_TABLE(FIELD_STALL)
		AT("split.by", SPLIT, split),
	AT("split.why", TEXT, split_why),
	AT("device.copy_s_per_sample", ESTIMATE, device_copy_s),
	AT("prep_split.waiting_share", NUMBER, prep_waiting),
	AT("prep_split.contention_share", NUMBER, prep_contention),
	AT("outside.time_s", NUMBER, outside_s),
	AT("outside.share", NUMBER, outside_share),
	TRACE_RATED(FIELD_RATE) STAGE_STALLS(FIELD_PROOF)
		AT("second_proof.basis", TEXT, proof.basis),
	AT("second_proof.gap_share", NUMBER, proof_gap),
	AT("second_proof.slowed_half_share", NUMBER, proof.slowed_half),
	AT("limit.what", LIMIT, limit),
	AT("limit.next", LIMIT, limit_next),
	AT("limit.why", TEXT, limit_why),
	AT("bound.why", TEXT, bound_why),
	AT("overhead", SHARE, overhead),
	AT("overhead.floor_share", NUMBER, overhead_floor),
	AT("busy.why", TEXT, busy_why),
	AT("busy.windows", COUNT, busy.windows),
	AT("busy.disturbed_windows", COUNT, busy.disturbed),
	AT("busy.kept", YES, busy.kept),
	AT("busy.others_cpu_share", NUMBER, busy.others_cpu_share),
	AT("busy.steal_share", NUMBER, busy.steal_share),
	AT("busy.others_read_share", NUMBER, busy.others_read_share),
	AT("busy.cpu_wait_share", NUMBER, busy.cpu_wait_share),
	AT("busy.io_wait_share", NUMBER, busy.io_wait_share),
	AT("busy.load", NUMBER, busy.load),
	AT("busy.cpu_hz", NUMBER, busy.cpu_hz),
	AT("cache.hit_ratio", ESTIMATE, hit_ratio),
	AT("cache.emulated", FLAG, cache_emulated),
	AT("cache.first_epoch_per_s", NUMBER, first_epoch_per_s),
	AT("counters.cpu_s_per_sample", NUMBER, cpu_s_per_sample),
	AT("counters.program_reads_per_sample", NUMBER, program_reads_per_sample),
	AT("counters.program_bytes_per_sample", NUMBER, program_bytes_per_sample),
	AT("prep_sampled", COUNT, looked_samples),
	AT("epoch_starts.count", COUNT, epoch_starts),
	AT("epoch_starts.mean_s", NUMBER, epoch_start_s),
	AT("epoch_starts.end_s", NUMBER, epoch_end_s),
	AT("epoch_starts.persistent_saves_s", NUMBER, epoch_saved_s),
	AT("coverage", NUMBER, coverage),
	AT("unseen.mapped_files", COUNT, mapped_files),
	AT("unseen.connections", COUNT, connections),
	AT("unseen.processes", COUNT, unseen_processes),
	AT("cupti.about", TEXT, devices_by),
	AT("cupti.lost_records", COUNT, devices_lost),
	AT("files_written", WORDS, files_written),
	AT("files_written_more", COUNT, files_written_more),
	AT("files_kept.count", COUNT, files_kept),
	AT("files_kept.lost", COUNT, files_lost),
	AT("files_kept.lost_files", WORDS, lost_files),
	AT("files_kept.put_back", TEXT, put_back),
	AT("recipe.kind", TEXT, own_recipe.kind),
	AT("recipe.size", COUNT, own_recipe.size),
	AT("recipe.type", TEXT, own_recipe.type),
	AT("recipe.folder", TEXT, own_recipe.folder),
	AT("recipe.lacks", TEXT, own_recipe.lacks),
	AT("recipe.code", TEXT, own_recipe.code),
	AT("recipe.libdsa_cpu_s_per_sample", ESTIMATE, own_recipe.cpu_s),
	AT("recipe.libdsa_per_s", ESTIMATE, own_recipe.per_s),
	AT("recipe.pictures", COUNT, own_recipe.pictures),
	AT("recipe.psnr_db", NUMBER, own_recipe.psnr),
	PROFILE_COUNTED(LINE) AT("histograms.fetch_s", HISTOGRAM, fetch_s),
	AT("histograms.prep_s", HISTOGRAM, prep_s),
	AT("histograms.sample_bytes", HISTOGRAM, bytes),
	AT("together.shared", YES, shared),
	AT("together.rate_per_s", ESTIMATE, together),
	AT("together.prep_cpu_s_per_sample", NUMBER, prep_cpu_per_delivered_s),
	AT("model.real_per_s", ESTIMATE, model.real),
	AT("model.cached_per_s", ESTIMATE, model.cached),
	AT("model.real_error", NUMBER, model.real_error),
	AT("model.cached_error", NUMBER, model.cached_error),
	AT("model.why", TEXT, model.why),
	AT("currency", TEXT, currency),
	AT("cost", ESTIMATE, cost),
	TRAFFIC,
	{NULL, FIELD_END, 0},
};

/* What no file has. */
static const struct field unwritten[] = {
	AT("", NUMBER, proof.share[STAGE_COMPUTE]),
	AT("", NUMBER, proof.fetch_half),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_window, path, type, member)

const struct field field_window[] = {
	PROFILE_WINDOW(LINE){NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_point, path, type, member)
#define POINT(x_name)                                                                  \
	{                                                                              \
		AT(x_name, UNSIGNED, x), AT("rate_per_s", ESTIMATE, per_s),            \
			AT("bytes_per_s", NUMBER, bytes_per_s),                        \
			AT("cpu_s_per_sample", NUMBER, cpu_s_per_sample),              \
			AT("read_s", NUMBER, read_s),                                  \
			AT("with_consumer", FLAG, with_consumer),                      \
			AT("unthrottled", FLAG, unthrottled), {NULL, FIELD_END, 0},    \
	}

static const struct field prep_point[] = POINT("workers");
static const struct field fetch_point[] = POINT("depth");

#undef AT
#define AT(path, type, member) FIELD_AT(profile_epoch, path, type, member)

static const struct field epoch[] = {
	AT("epoch", COUNT, epoch),   AT("hits", COUNT, hits),
	AT("misses", COUNT, misses), AT("miss_bytes", COUNT, miss_bytes),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_draw, path, type, member)

const struct field field_draw[] = {
	AT("bytes", COUNT, bytes),
	AT("fetch_s", NUMBER, fetch_s),
	AT("prep_s", NUMBER, prep_s),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_skip, path, type, member)

static const struct field skip[] = {
	AT("sample", COUNT, sample),
	AT("name", TEXT, name),
	AT("reason", TEXT, reason),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_part, path, type, member)

static const struct field part[] = {
	AT("name", TEXT, name),       AT("calls", COUNT, calls),
	AT("mean_s", NUMBER, mean_s), AT("share", NUMBER, share),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_slow, path, type, member)

static const struct field slow[] = {
	AT("sample", COUNT, sample),
	AT("file", TEXT, file),
	AT("prep_s", NUMBER, prep_s),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_counter, path, type, member)

static const struct field counter[] = {
	AT("stage", TEXT, stage),
	AT("name", TEXT, name),
	AT("rung", TEXT, rung),
	AT("per_sample", NUMBER, per_sample),
	AT("running_share", NUMBER, running),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_process, path, type, member)

static const struct field process[] = {
	AT("pid", COUNT, pid),
	AT("role", TEXT, role),
	AT("threads", COUNT, threads),
	AT("cpu_s", NUMBER, cpu_s),
	AT("read_bytes", COUNT, read_bytes),
	AT("samples", COUNT, samples),
	AT("batches", COUNT, batches),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_device, path, type, member)

static const struct field device[] = {
	AT("pid", COUNT, pid),
	AT("device", COUNT, device),
	AT("kind", KIND, kind),
	AT("length_s", NUMBER, length_s),
	AT("busy_s", NUMBER, busy_s),
	AT("copy_s", NUMBER, copy_s),
	AT("idle_data_s", NUMBER, data_s),
	AT("idle_host_s", NUMBER, host_s),
	AT("overlap_s", NUMBER, overlap_s),
	AT("collective_s", NUMBER, collective_s),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_rank, path, type, member)

static const struct field rank[] = {
	AT("communicator", COUNT, communicator),
	AT("rank", COUNT, rank),
	AT("ranks", COUNT, ranks),
	AT("pid", COUNT, pid),
	AT("compared", COUNT, compared),
	AT("inside_s", NUMBER, inside_s),
	AT("waited_s", NUMBER, waited_s),
	AT("last", COUNT, last),
	AT("last_s", NUMBER, last_s),
	AT("blocked_share", NUMBER, blocked_share),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_job, path, type, member)

static const struct field job[] = {
	AT("job", COUNT, job),
	AT("command", TEXT, command),
	AT("target_status", INDEX, target_status),
	TRACE_RATED(FIELD_RATE) STAGE_TABLE(FIELD_STALL)
		AT("blocked_share", NUMBER, blocked_share),
	AT("ahead_batches", NUMBER, ahead_batches),
	AT("dropped", YES, dropped),
	AT("waits_for", TEXT, waits_for),
	AT("why", TEXT, why),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_prediction, path, type, member)
#define CHANGE                                                                         \
	AT("change.cores", UNSIGNED, change.cores),                                    \
		AT("change.workers", UNSIGNED, change.workers),                        \
		AT("change.batch", UNSIGNED, change.batch),                            \
		AT("change.cache_share", NUMBER, change.cache_share),                  \
		AT("change.cache_policy", CACHE, change.cache_policy),                 \
		AT("change.gpu_speed", NUMBER, change.gpu_speed),                      \
		AT("change.storage_bytes_per_s", NUMBER, change.storage_bandwidth),    \
		AT("change.storage_latency_s", NUMBER, change.storage_latency_s),      \
		AT("change.bucket_latency_s", NUMBER, change.bucket_latency_s),        \
		AT("change.bucket_requests_per_s", NUMBER, change.bucket_per_s),       \
		AT("change.block_fetch", UNSIGNED, change.block_fetch),                \
		AT("change.block_threshold", UNSIGNED, change.block_threshold),        \
		AT("change.block_capacity", UNSIGNED, change.block_capacity),          \
		AT("change.fetch_depth", UNSIGNED, change.fetch_depth),                \
		AT("change.jobs", UNSIGNED, change.jobs),                              \
		AT("change.job_speeds", SPEEDS, change.job_speed),                     \
		AT("change.share", YES, change.share),                                 \
		AT("change.resize", UNSIGNED, change.resize),                          \
		AT("change.type", TYPE, change.type),                                  \
		AT("change.decoded", YES, change.decoded),                             \
		AT("change.libdsa", YES, change.libdsa),                               \
		AT("change.without", TEXT, change.without)

static const struct field prediction[] = {
	CHANGE,
	AT("rate_per_s", ESTIMATE, per_s),
	AT("job_rate_per_s", ESTIMATE, per_job),
	AT("speedup", ESTIMATE, speedup),
	STAGE_TABLE(FIELD_STALL) AT("hit_ratio", NUMBER, hit_ratio),
	AT("memory_bytes", NUMBER, memory_bytes),
	AT("read_bytes_per_s", NUMBER, read_bytes_per_s),
	AT("prep_cores", NUMBER, prep_cores),
	AT("cost", ESTIMATE, cost),
	TRAFFIC,
	AT("limit", LIMIT, limit),
	AT("advice", TEXT, advice),
	AT("why", TEXT, why),
	AT("command", TEXT, command),
	AT("rank", COUNT, rank),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_recipe, path, type, member)

static const struct field recipe[] = {
	AT("resize", UNSIGNED, change.resize),
	AT("type", TYPE, change.type),
	AT("decoded", YES, change.decoded),
	AT("prep_ratio", ESTIMATE, prep_ratio),
	AT("bytes_ratio", NUMBER, bytes_ratio),
	AT("samples", COUNT, samples),
	{NULL, FIELD_END, 0},
};

static const struct field nothing[] = {{NULL, FIELD_END, 0}};

/* The rest of a change, which is none. */
static const struct field recipe_change[] = {CHANGE, {NULL, FIELD_END, 0}};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_fact, path, type, member)

static const struct field fact[] = {
	AT("", TEXT, key),
	AT("", TEXT, value),
	{NULL, FIELD_END, 0},
};

#undef AT
#define AT(path, type, member) FIELD_AT(profile_verification, path, type, member)

static const struct field verification[] = {
	CHANGE,
	AT("when", TEXT, when),
	AT("predicted_per_s", ESTIMATE, predicted),
	AT("drift", NUMBER, drift),
	AT("measured_per_s", ESTIMATE, measured),
	AT("error", NUMBER, error),
	AT("covered", ANSWER, covered),
	AT("hit_ratio", NUMBER, hit_ratio),
	AT("predicted_hit_ratio", NUMBER, hit_ratio_predicted),
	AT("why", TEXT, why),
	{NULL, FIELD_END, 0},
};

const char *const *field_table(enum field_type type)
{
	static const char *const *const tables[FIELD_END + 1] = {
		[FIELD_KIND] = profile_kinds,     [FIELD_STATUS] = profile_statuses,
		[FIELD_LIMIT] = profile_limits,   [FIELD_PROTOCOL] = profile_protocols,
		[FIELD_ENGINE] = profile_engines, [FIELD_CACHE] = profile_caches,
		[FIELD_TYPE] = profile_types,     [FIELD_LOADER] = profile_loaders,
		[FIELD_SPLIT] = profile_splits,
	};

	return tables[type];
}

const char *field_text(enum field_type type, const void *at)
{
	const char *const *table = field_table(type);

	if (table != NULL)
		return profile_word(table, at);
	return type == FIELD_TEXT ? *(char *const *)at : NULL;
}

/* X(NAME, path, fields, structure, array, count, fields that no file has, whether it is absent
 * where it is empty) */
/* clang-format off */
#define LISTS(X) \
	X(window, "windows", field_window, profile_window, windows, window_count, nothing, false) \
	X(prep_point, "curves.prep", prep_point, profile_point, prep_curve, prep_points, nothing, false) \
	X(fetch_point, "curves.fetch", fetch_point, profile_point, fetch_curve, fetch_points, nothing, false) \
	X(epoch, "cache.epochs", epoch, profile_epoch, epochs, epoch_count, nothing, false) \
	X(skip, "run.skips", skip, profile_skip, skips, skip_count, nothing, false) \
	X(part, "prep_by_transform", part, profile_part, parts, part_count, nothing, false) \
	X(slow, "prep_slowest", slow, profile_slow, slowest, slow_count, nothing, false) \
	X(counter, "counters.stages", counter, profile_counter, counters, counter_count, nothing, false) \
	X(process, "processes", process, profile_process, processes, process_count, nothing, false) \
	X(device, "devices", device, profile_device, devices, device_count, nothing, true) \
	X(rank, "ranks", rank, profile_rank, ranks, rank_count, nothing, true) \
	X(recipe, "recipes", recipe, profile_recipe, recipes, recipe_count, recipe_change, false) \
	X(job, "jobs", job, profile_job, jobs, job_count, nothing, false) \
	X(prediction, "predictions", prediction, profile_prediction, predictions, prediction_count, nothing, false) \
	X(verification, "verifications", verification, profile_verification, verifications, verification_count, nothing, false)

/* Those that are written in ways of their own. */
#define OTHER_LISTS(X) \
	X(draw, "draws", field_draw, profile_draw, draws, draw_count, nothing, true) \
	X(fact, "environment", fact, profile_fact, environment, fact_count, nothing, true)
/* clang-format on */

#define LIST(name, path, fields, structure, array, count, unwritten, if_any)           \
	{path,                                                                         \
	 fields,                                                                       \
	 unwritten,                                                                    \
	 sizeof(struct structure),                                                     \
	 offsetof(struct profile, array),                                              \
	 offsetof(struct profile, count),                                              \
	 if_any},

const struct field_list field_lists[] = {LISTS(LIST){0}};
static const struct field_list other_lists[] = {OTHER_LISTS(LIST){0}};

#define LIST_NUMBER(name, ...) LIST_##name,
enum { LISTS(LIST_NUMBER) };
enum { OTHER_LISTS(LIST_NUMBER) };

/* All is unknown. */
static void field_clear(const struct field *fields, void *object)
{
	for (const struct field *field = fields; field->path != NULL; field++) {
		void *at = (char *)object + field->offset;

		if (field_table(field->type) != NULL)
			*(struct profile_word *)at = PROFILE_NO_WORD;
		else if (field->type == FIELD_COUNT)
			*(uint64_t *)at = UNKNOWN;
		else if (field->type == FIELD_NUMBER)
			*(double *)at = NAN;
		else if (field->type == FIELD_SHARE || field->type == FIELD_ESTIMATE)
			*(struct interval *)at = INTERVAL_UNKNOWN;
		else if (field->type == FIELD_INDEX || field->type == FIELD_ANSWER)
			*(int *)at = -1;
	}
}

static void free_text(char **text)
{
	free(*text);
	*text = NULL;
}

/* Frees what it holds, which is gone then; its numbers stay. */
static void field_free(const struct field *fields, void *object)
{
	for (const struct field *field = fields; field->path != NULL; field++) {
		void *at = (char *)object + field->offset;

		if (field_table(field->type) != NULL) {
			free(((struct profile_word *)at)->other);
			*(struct profile_word *)at = PROFILE_NO_WORD;
		} else if (field->type == FIELD_TEXT) {
			free_text(at);
		} else if (field->type == FIELD_WORDS) {
			profile_free_texts(*(char ***)at);
			*(char ***)at = NULL;
		} else if (field->type == FIELD_HISTOGRAM) {
			free(((struct profile_histogram *)at)->count);
			*(struct profile_histogram *)at = (struct profile_histogram){0};
		}
	}
}

/* ---- elements ---- */

void *field_add(const struct field_list *list, struct profile *profile)
{
	size_t *count = (size_t *)((char *)profile + list->count);
	void *old, *grown;

	memcpy(&old, (char *)profile + list->array, sizeof(old));
	grown = reallocarray(old, *count + 1, list->size);
	if (grown == NULL)
		return NULL;
	memcpy((char *)profile + list->array, &grown, sizeof(grown));
	grown = memset((char *)grown + (*count)++ * list->size, 0, list->size);
	field_clear(list->fields, grown);
	field_clear(list->unwritten, grown);
	return grown;
}

/* All of them. */
static void field_drop(const struct field_list *list, struct profile *profile)
{
	size_t *count = (size_t *)((char *)profile + list->count);
	char *elements, *none = NULL;

	memcpy(&elements, (char *)profile + list->array, sizeof(elements));
	for (size_t i = 0; i < *count; i++) {
		field_free(list->fields, elements + i * list->size);
		field_free(list->unwritten, elements + i * list->size);
	}
	free(elements);
	memcpy((char *)profile + list->array, &none, sizeof(none));
	*count = 0;
}

#define ADD(lists, name, structure)                                                    \
	struct structure *profile_add_##name(struct profile *profile)                  \
	{                                                                              \
		return field_add(&(lists)[LIST_##name], profile);                      \
	}
#define ADD_WRITTEN(name, path, fields, structure, ...)                                \
	ADD(field_lists, name, structure)
#define ADD_OTHER(name, path, fields, structure, ...) ADD(other_lists, name, structure)

LISTS(ADD_WRITTEN)
OTHER_LISTS(ADD_OTHER)

void profile_drop_predictions(struct profile *profile)
{
	field_drop(&field_lists[LIST_prediction], profile);
}

void profile_prediction_free(struct profile_prediction *one)
{
	field_free(prediction, one);
}

/* ---- all of it ---- */

void profile_init(struct profile *profile)
{
	*profile = (struct profile){0};
	field_clear(field_profile, profile);
	field_clear(unwritten, profile);
}

void profile_free(struct profile *profile)
{
	for (const struct field_list *list = field_lists; list->path != NULL; list++)
		field_drop(list, profile);
	for (const struct field_list *list = other_lists; list->path != NULL; list++)
		field_drop(list, profile);
	field_free(field_profile, profile);
	profile_init(profile);
}
