/*
 * settings.h - the options that every command with a loader takes: what to load, how,
 * and how slow the storage pretends to be. A command has them in a member `settings`, and
 * SETTINGS(its struct) as the last row of its table.
 */
#ifndef DSA_SETTINGS_H
#define DSA_SETTINGS_H

#include "cmd/common/argument.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

enum setting {
	SETTING_DATASET,
	SETTING_BATCH,
	SETTING_WORKERS,
	SETTING_CORES,
	SETTING_CACHE,
	SETTING_CACHE_POLICY,
	SETTING_FETCH,
	SETTING_FETCH_DEPTH,
	SETTING_PREFETCH,
	SETTING_BANDWIDTH,
	SETTING_LATENCY,
	SETTING_DELAY,
	SETTING_STEPS,
	SETTING_SEED,
	SETTING_ON_ERROR,
	SETTING_RELIST,
	SETTING_CACHE_DIR,
	SETTING_PREFETCH_BYTES,
	SETTING_HEDGE,
	SETTING_SHUFFLE,
	SETTING_DEADLINE,
	SETTING_IMAGE_FEATURE,
	SETTING_LABEL_FEATURE,
	SETTING_READ_GAP,
};

/* What was given; 0 or NULL in a member that was not. Begins all 0. */
struct settings {
	const char *dataset;
	const char *cache;                         /* policy */
	const char *cache_size;                    /* "2G", "35%" */
	const char *cache_dir;                     /* where it is, if not in memory */
	const char *fetch;                         /* engine */
	const char *on_error;                      /* "skip", "fail" */
	const char *shuffle;                       /* "global", "blocks" */
	const char *image_feature, *label_feature; /* of TFRecord's examples */
	unsigned batch, workers, prefetch, fetch_depth;
	unsigned cores;     /* that the work may use */
	uint64_t bandwidth; /* bytes/s of the storage */
	uint64_t latency_ns, delay_ns, read_gap;
	uint64_t deadline_ns; /* of requests */
	uint64_t steps, seed;
	bool relist, hedge;
	uint64_t prefetch_bytes;
	unsigned given; /* of these: bits 1 << enum setting */
};

extern const struct argument settings_arguments[];

/* Notes what was given. */
void settings_taken(struct argp_state *state, void *settings, const char *value);

#define SETTINGS(structure)                                                            \
	ARGUMENT_TABLE(offsetof(struct structure, settings), settings_taken,           \
		       settings_arguments)

/*
 * The options given, as a value of DSA_LOADER, after the one it has (`before`, NULL:
 * none), which they override. The caller frees it; NULL when memory is short.
 */
char *settings_loader(const struct settings *settings, const char *before);

/* Returns 0, or -errno when there are not as many cores as --cores says. */
int settings_check_cores(const struct settings *settings, struct error *err);

/*
 * Restricts this process and its later children to --cores cores. Returns 0, or -errno
 * when there are not so many.
 */
int settings_take_cores(const struct settings *settings, struct error *err);

#endif
