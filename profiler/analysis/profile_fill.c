/* profile_fill.c - copies settings, windows and histograms out of a session. */
#include "profiler/analysis/profile_fill.h"
#include "loader/base/permutation.h"
#include "profiler/analysis/busy.h"
#include "profiler/analysis/shares.h"
#include "profiler/rank_waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Text of a fixed array in a session that may be damaged: it need not end. */
#define COPY(to, from) profile_text(to, "%.*s", (int)sizeof(from) - 1, from)

static int loader_word(struct profile_word *word, const char *const *table,
		       const char from[16])
{
	char text[16];

	snprintf(text, sizeof(text), "%.15s", from);
	return profile_word_set(word, table, text);
}

static double profile_fill_positive(double value)
{
	return value > 0 ? value : NAN;
}

static int loader_texts(const struct trace_loader *loader, struct profile *profile)
{
	int result = 0;

	result |= COPY(&profile->dataset, loader->dataset);
	result |= COPY(&profile->source, loader->source);
	result |= loader_word(&profile->engine, profile_engines, loader->engine);
	result |= COPY(&profile->engine_reason, loader->engine_reason);
	result |= loader_word(&profile->cache, profile_caches, loader->cache);
	result |= COPY(&profile->prep, loader->prep);
	result |= COPY(&profile->output, loader->output);
	if (loader->features[0] != '\0')
		result |= COPY(&profile->features, loader->features);
	if (loader->kind == TRACE_LIBDSA)
		result |= profile_text(&profile->digest, "%016" PRIx64, loader->digest);
	return result;
}

static int loader_device(const struct trace_loader *loader, struct profile *profile)
{
	if (loader->device[0] == '\0')
		return 0;
	profile->device_sample_bytes = loader->device_sample_bytes;
	return COPY(&profile->device, loader->device) |
	       profile_text(&profile->device_memory, "%s",
			    loader->unpinned ? "unpinned" : "pinned") |
	       profile_text(&profile->transfer, "%s",
			    loader->device_uint8 ? "uint8" : "output");
}

_Static_assert((int)LOADER_DSA == TRACE_LIBDSA && (int)LOADER_TORCH == TRACE_TORCH &&
		       (int)LOADER_WATCH == TRACE_WATCH,
	       "one order");

int profile_fill_loader(const struct trace *trace, struct profile *profile)
{
	const struct trace_loader *loader = &trace->loader;

	if (trace->loader_ready == 0)
		return 0;
	profile->seed = loader->seed;
	if (loader->kind == TRACE_LIBDSA || loader->dataset_samples > 0) {
		profile->dataset_samples = loader->dataset_samples;
		profile->dataset_bytes = loader->dataset_bytes;
	}
	if (loader->kind == TRACE_LIBDSA) {
		profile->classes = loader->classes;
		profile->sample_bytes = loader->sample_bytes;
	}
	profile->batch = loader->batch;
	if (loader->steps_per_epoch > 0 && atomic_load(&trace->beyond) != TRACE_ENDLESS)
		profile->steps_per_epoch = loader->steps_per_epoch;
	profile->loaders = trace->loaders;
	if (loader->beside > 0)
		profile->beside = loader->beside;
	if (loader->world > 1) {
		profile->rank = loader->rank;
		profile->world = loader->world;
	}
	if (loader->kind < PROFILE_LOADERS)
		profile->loader_kind.id = (int)loader->kind;
	if (loader->kind != TRACE_WATCH) { /* who knows what it has? */
		profile->workers = loader->workers;
		profile->fetch_depth = loader->fetch_depth;
		profile->fetch_depth_auto = loader->fetch_depth_auto;
		profile->prefetch = loader->prefetch;
	}
	if (loader->shuffle_run > 0) {
		profile->shuffle_run = loader->shuffle_run;
		profile->shuffle_window = loader->shuffle_window;
		profile->shuffle_design_effect = permutation_design_effect(
			(uint32_t)loader->dataset_samples,
			(struct permutation_blocks){loader->shuffle_run,
						    loader->shuffle_window},
			loader->batch);
	}
	if (loader->cache_capacity > 0 && loader->dataset_bytes > 0) {
		profile->cache_capacity_bytes = loader->cache_capacity;
		profile->cache_share =
			(double)loader->cache_capacity / (double)loader->dataset_bytes;
	}
	profile->storage_bandwidth = profile_fill_positive(loader->storage_bandwidth);
	profile->storage_latency_s = profile_fill_positive(loader->storage_latency);
	profile->prep_delay_s = profile_fill_positive(loader->prep_delay);
	profile->emulated_per_s = profile_fill_positive(loader->emulated_per_s);
	profile->storage_is_memory = loader->memory;
	profile->untrained = loader->untrained;
	profile->reads_ahead = loader->apart;
	if (loader->remote) {
		profile->requests = (struct profile_requests){
			.listing_age_s = profile_fill_positive(loader->listing_age_s),
			.most = trace_most_gets(trace, loader->dataset_samples),
			.needed = UNKNOWN,
			.cost = NAN,
		};
	}
	if (loader->cache_on_disk) {
		profile->disk_cache = (struct profile_disk_cache){
			.hits = profile_fill_total(trace, TRACE_disk_samples),
			.written = profile_fill_total(trace, TRACE_disk_written),
			.refused = profile_fill_total(trace, TRACE_disk_refused),
			.dropped = profile_fill_total(trace, TRACE_disk_dropped),
			.stale = profile_fill_total(trace, TRACE_disk_stale),
			.full = profile_fill_total(trace, TRACE_disk_full),
		};
		profile->disk_cache.hit_s =
			1e-9 * (double)profile_fill_total(trace, TRACE_disk_ns) /
			(double)profile->disk_cache.hits;
	}
	profile->huge_pages = loader->huge_pages;
	if (trace->pickle_ns > 0)
		profile->share_s = (double)trace->pickle_ns * 1e-9;
	if (trace->unpickle_ns > 0)
		profile->unpickle_s = (double)trace->unpickle_ns * 1e-9;
	if (trace->epoch_starts > 0) {
		profile->epoch_starts = trace->epoch_starts;
		profile->epoch_start_s = (double)trace->epoch_start_ns * 1e-9 /
					 (double)trace->epoch_starts;
	}
	return loader_texts(loader, profile) | loader_device(loader, profile);
}

void profile_fill_add_requests(const struct trace *trace, struct profile *profile)
{
	struct profile_requests *to = &profile->requests;

	if (!trace->loader.remote || to->gets == UNKNOWN)
		return;
	to->gets += profile_fill_total(trace, TRACE_wanted_gets);
	to->retries += profile_fill_total(trace, TRACE_retried_gets);
	to->lost += profile_fill_total(trace, TRACE_lost_samples);
	to->hedges += profile_fill_total(trace, TRACE_hedged_gets);
	to->listing += profile_fill_total(trace, TRACE_listing_gets);
	to->bytes += profile_fill_total(trace, TRACE_fetched_bytes) +
		     profile_fill_total(trace, TRACE_staged_bytes);
}

uint64_t profile_fill_total(const struct trace *trace, enum trace_counter counter)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < TRACE_PROCESSES; i++)
		total += trace->processes[i].counters[counter];
	return total;
}

/* Of the data that was measured: other loaders of the program may have other data. */
static uint64_t bucket_total(const struct trace *trace, enum trace_histogram which,
			     unsigned bucket)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < TRACE_PROCESSES; i++)
		if (trace_is_driven_data(trace, &trace->processes[i]))
			total += trace->processes[i].histograms[which][bucket];
	return total;
}

/* One histogram, cut to the buckets that count something. */
static int profile_fill_add_histogram(const struct trace *trace,
				      enum trace_histogram which, double unit,
				      struct profile_histogram *histogram)
{
	unsigned first = 0, end = TRACE_BUCKETS;

	while (first < end && bucket_total(trace, which, first) == 0)
		first++;
	while (end > first && bucket_total(trace, which, end - 1) == 0)
		end--;
	if (first == end)
		return 0;
	histogram->count = calloc(end - first, sizeof(*histogram->count));
	if (histogram->count == NULL)
		return -ENOMEM;
	histogram->low = ldexp(unit, (int)first);
	histogram->buckets = end - first;
	for (unsigned i = first; i < end; i++)
		histogram->count[i - first] = bucket_total(trace, which, i);
	return 0;
}

int profile_fill_histograms(const struct trace *trace, struct profile *profile)
{
	if (profile_fill_add_histogram(trace, TRACE_FETCH_NS, 1e-9, &profile->fetch_s) <
		    0 ||
	    profile_fill_add_histogram(trace, TRACE_PREP_NS, 1e-9, &profile->prep_s) <
		    0)
		return -ENOMEM;
	return profile_fill_add_histogram(trace, TRACE_BYTES, 1, &profile->bytes);
}

int profile_fill_epochs(const struct trace *trace, struct profile *profile)
{
	for (unsigned i = 0; i < TRACE_EPOCHS; i++) {
		const struct trace_epoch *raw = &trace->epochs[i];
		struct profile_epoch *epoch;

		if (raw->hits == 0 && raw->misses == 0)
			continue;
		epoch = profile_add_epoch(profile);
		if (epoch == NULL)
			return -ENOMEM;
		epoch->epoch = i;
		epoch->hits = raw->hits;
		epoch->misses = raw->misses;
		epoch->miss_bytes = raw->miss_bytes;
	}
	return 0;
}

int profile_fill_skips(const struct trace *trace, struct profile *profile)
{
	unsigned count = trace->skip_count;

	for (unsigned i = 0; i < count && i < TRACE_SKIPS; i++) {
		const struct trace_skip *raw = &trace->skips[i];
		struct profile_skip *skip;

		if (raw->slot == 0 || raw->slot > TRACE_PROCESSES ||
		    !trace_is_driven_data(trace, &trace->processes[raw->slot - 1]))
			continue;
		skip = profile_add_skip(profile);
		if (skip == NULL || COPY(&skip->name, raw->name) < 0 ||
		    COPY(&skip->reason, raw->reason) < 0)
			return -ENOMEM;
		skip->sample = raw->sample;
	}
	return 0;
}

/* Threads of a process that entered themselves. */
static uint64_t thread_count(const struct trace_process *process)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < TRACE_THREADS; i++)
		count += process->threads[i].tid != 0;
	return count;
}

/* The last snapshot that the driver took: what it had used until then. */
static const struct trace_snapshot *last_snapshot(const struct trace *trace)
{
	const struct trace_snapshot *last = NULL;

	for (unsigned i = 0; i < window_count(trace); i++)
		if (trace->windows[i].state == TRACE_DONE)
			last = &trace->windows[i].end;
	return last;
}

int profile_fill_processes(const struct trace *trace, struct profile *profile)
{
	const struct trace_snapshot *last = last_snapshot(trace);

	for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
		const struct trace_process *raw = &trace->processes[i];
		bool driver = trace->driver == i + 1;
		struct profile_process *process;

		if (raw->pid == 0)
			continue;
		process = profile_add_process(profile);
		if (process == NULL ||
		    profile_text(&process->role, driver ? "driver" : "loader") < 0)
			return -ENOMEM;
		process->pid = raw->pid;
		process->threads = thread_count(raw);
		process->samples = raw->counters[TRACE_delivered_samples];
		if (driver && last != NULL) {
			process->cpu_s = (double)last->cpu_ns * 1e-9;
			process->read_bytes = last->read_bytes;
		}
	}
	return 0;
}

/* What the driver's two snapshots say. */
static void fill_counted(const struct trace_window *raw, struct profile_window *window)
{
	window->cpu_s = (double)(raw->end.cpu_ns - raw->begin.cpu_ns) * 1e-9;
	window->prep_cpu_s = (double)window_counted(raw, TRACE_prep_cpu_ns) * 1e-9;
	window->fetch_cpu_s = (double)window_counted(raw, TRACE_fetch_cpu_ns) * 1e-9;
	window->read_bytes = window_read_bytes(raw);
	window->fetched_bytes = window_counted(raw, TRACE_fetched_bytes);
	window->hits = window_counted(raw, TRACE_hit_samples);
	window->misses = window_counted(raw, TRACE_fetched_samples);
	window->prepared = window_counted(raw, TRACE_prepared_samples);
	window->prep_padded = window_counted(raw, TRACE_prep_padded);
	window->prep_busy_s = (double)window_counted(raw, TRACE_prep_ns) * 1e-9;
	window->throttle_reads = window_counted(raw, TRACE_throttle_reads);
	window->throttle_busy_s =
		(double)window_counted(raw, TRACE_throttle_busy_ns) * 1e-9;
	window->emulated_samples = window_counted(raw, TRACE_emulated_samples);
	window->emulated_busy_s =
		(double)window_counted(raw, TRACE_emulated_busy_ns) * 1e-9;
}

int profile_fill_window(const struct window *window, bool used, struct profile *profile)
{
	const struct trace_window *raw = window->raw;
	struct profile_window *out = profile_add_window(profile);

	if (out == NULL ||
	    profile_word_set(&out->kind, profile_kinds,
			     raw->kind < TRACE_KINDS ? profile_kinds[raw->kind]
						     : "unknown") < 0)
		return -ENOMEM;
	out->block = window->block;
	out->used = used;
	out->certified = window->certified;
	out->drawn = raw->flags & TRACE_DRAW;
	out->workers = window->workers;
	out->depth = window->depth;
	if (window->ended) {
		out->start_s = window->begin_s;
		out->length_s = window->end_s - window->begin_s;
		out->switch_s = (double)(raw->begin.time_ns - raw->switch_ns) * 1e-9;
		out->staged = raw->staged;
		out->staged_repeats = raw->staged_repeats;
		fill_counted(raw, out);
	}
	if (window->seconds > 0) {
		out->steps = (uint64_t)window->steps;
		out->samples = (uint64_t)window->samples;
		out->per_s = window->samples / window->seconds;
		out->outside_s = window->outside_s;
		if (window_delivers(window->kind))
			out->blocked_s = window->blocked_s;
	}
	busy_fill_window(window, out);
	return profile_text(
		&out->why, "%s%s%s%s", window->why,
		raw->flags & TRACE_UNTHROTTLED ? "; without the emulated limit" : "",
		raw->flags & TRACE_WARMUP ? "; warm-up, not used" : "",
		!out->disturbed    ? ""
		: window->left_out ? "; disturbed by others, not used"
				   : "; disturbed by others");
}

static int fill_rank(const struct rank_wait *row, struct profile *profile)
{
	struct profile_rank *rank = profile_add_rank(profile);
	double compared = (double)row->compared;

	if (rank == NULL)
		return -ENOMEM;
	rank->communicator = row->communicator;
	rank->rank = row->rank;
	rank->ranks = row->ranks;
	rank->pid = row->pid;
	rank->compared = row->compared;
	rank->inside_s = row->inside_s / compared;
	rank->waited_s = row->waited_s / compared;
	if (row->last_s > 0) {
		rank->last = row->last;
		rank->last_s = row->last_s / compared;
	}
	return 0;
}

int profile_fill_ranks(const struct trace *trace, struct profile *profile)
{
	struct rank_waits waits;
	int result = rank_waits_read(trace, &waits);

	for (size_t i = 0; result == 0 && i < waits.count; i++)
		if (waits.rows[i].compared > 0)
			result = fill_rank(&waits.rows[i], profile);
	rank_waits_free(&waits);
	return result;
}

/* ---- what the program reads ---- */

static bool program_reads_uses(const struct window *window)
{
	return window->kind == TRACE_REAL && window->ended &&
	       (shares_uses(window) || window->trace->observe);
}

void profile_fill_program_reads(const struct window *windows, size_t count,
				struct profile *profile)
{
	double reads = 0, bytes = 0, samples = 0;

	for (size_t i = 0; i < count; i++) {
		struct window_calls calls;

		if (!program_reads_uses(&windows[i]) ||
		    !window_program_reads(windows[i].raw, &calls))
			continue;
		reads += (double)calls.reads;
		bytes += (double)calls.bytes;
		samples += (double)windows[i].raw->samples;
	}
	if (samples <= 0)
		return;
	profile->program_reads_per_sample = reads / samples;
	profile->program_bytes_per_sample = bytes / samples;
}
