/*
 * profile_fields.h - members of a profile that several places have alike, as tables: to
 * be copied, to be written and read.
 */
#ifndef DSA_PROFILE_FIELDS_H
#define DSA_PROFILE_FIELDS_H

#include "profiler/profile.h"

/*
 * What was loaded and how, and what was counted: X(PATH, TYPE, MEMBER) for each member
 * that a result, a baseline and a side of a gate have alike. TYPE is TEXT, COUNT
 * (uint64_t), NUMBER (double), FLAG (bool), YES (bool; absent if not), or ENGINE or CACHE (words of these tables);
 * `in` begins the path of a setting.
 */
/* clang-format off */
#define PROFILE_DATASET(X) \
	X("dataset.source", TEXT, source) \
	X("dataset.digest", TEXT, digest) \
	X("dataset.samples", COUNT, dataset_samples) \
	X("dataset.bytes", COUNT, dataset_bytes) \
	X("dataset.classes", COUNT, classes)
#define PROFILE_LOADING(X, in) \
	X(in "batch", COUNT, batch) \
	X(in "workers", COUNT, workers) \
	X(in "fetch_depth", COUNT, fetch_depth) \
	X(in "fetch_depth_auto", YES, fetch_depth_auto) \
	X(in "prefetch", COUNT, prefetch) \
	X(in "steps_per_epoch", COUNT, steps_per_epoch) \
	X(in "cores", COUNT, cores) \
	X(in "engine", ENGINE, engine)
#define PROFILE_STAGES(X, in) \
	X(in "cache", CACHE, cache) \
	X(in "cache_capacity_bytes", COUNT, cache_capacity_bytes) \
	X(in "cache_share", NUMBER, cache_share) \
	X(in "prep", TEXT, prep) \
	X(in "output", TEXT, output) \
	X(in "sample_bytes", COUNT, sample_bytes) \
	X(in "storage_is_memory", FLAG, storage_is_memory) \
	X(in "huge_pages", FLAG, huge_pages) \
	X(in "device", TEXT, device) \
	X(in "device_memory", TEXT, device_memory) \
	X(in "device_sample_bytes", COUNT, device_sample_bytes) \
	X(in "transfer", TEXT, transfer) \
	X("emulated.accelerator_per_s", NUMBER, emulated_per_s) \
	X("emulated.storage_bytes_per_s", NUMBER, storage_bandwidth) \
	X("emulated.storage_latency_s", NUMBER, storage_latency_s) \
	X("emulated.prep_delay_s", NUMBER, prep_delay_s)
#define PROFILE_COUNTED(X) \
	X("counted.samples", COUNT, counted.samples) \
	X("counted.opens", COUNT, counted.opens) \
	X("counted.reads", COUNT, counted.reads) \
	X("counted.read_bytes", COUNT, counted.read_bytes) \
	X("counted.hits", COUNT, counted.hits) \
	X("counted.decoded_pixels", COUNT, counted.decoded_pixels) \
	X("counted.skipped", COUNT, counted.skipped) \
	X("counted.device_bytes", COUNT, counted.device_bytes) \
	X("counted.program_reads", COUNT, counted.program_reads) \
	X("counted.program_bytes", COUNT, counted.program_bytes)

/* All that a window has, in the order of the CSV's columns. */
#define PROFILE_WINDOW(X) \
	X("kind", KIND, kind) \
	X("block", INDEX, block) \
	X("used", FLAG, used) \
	X("certified", FLAG, certified) \
	X("drawn", FLAG, drawn) \
	X("why", TEXT, why) \
	X("workers", UNSIGNED, workers) \
	X("depth", UNSIGNED, depth) \
	X("start_s", NUMBER, start_s) \
	X("length_s", NUMBER, length_s) \
	X("switch_s", NUMBER, switch_s) \
	X("steps", COUNT, steps) \
	X("samples", COUNT, samples) \
	X("rate_per_s", NUMBER, per_s) \
	X("blocked_s", NUMBER, blocked_s) \
	X("outside_s", NUMBER, outside_s) \
	X("cpu_s", NUMBER, cpu_s) \
	X("prep_cpu_s", NUMBER, prep_cpu_s) \
	X("fetch_cpu_s", NUMBER, fetch_cpu_s) \
	X("read_bytes", COUNT, read_bytes) \
	X("fetched_bytes", COUNT, fetched_bytes) \
	X("hits", COUNT, hits) \
	X("misses", COUNT, misses) \
	X("staged", COUNT, staged) \
	X("staged_repeats", COUNT, staged_repeats) \
	X("prepared", COUNT, prepared) \
	X("prep_padded", COUNT, prep_padded) \
	X("prep_busy_s", NUMBER, prep_busy_s) \
	X("throttle_reads", COUNT, throttle_reads) \
	X("throttle_busy_s", NUMBER, throttle_busy_s) \
	X("emulated_samples", COUNT, emulated_samples) \
	X("emulated_busy_s", NUMBER, emulated_busy_s) \
	X("others_cpu_s", NUMBER, others_cpu_s) \
	X("steal_s", NUMBER, steal_s) \
	X("others_read_bytes", COUNT, others_read_bytes) \
	X("cpu_wait_s", NUMBER, cpu_wait_s) \
	X("io_wait_s", NUMBER, io_wait_s) \
	X("load", NUMBER, load) \
	X("cpu_hz", NUMBER, cpu_hz) \
	X("disturbed", YES, disturbed)
/* clang-format on */

#endif
