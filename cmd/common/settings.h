/*
 * settings.h - the options that every command with a loader takes: what to load, how,
 * and how slow the storage pretends to be. A command has them in a member `settings`, and
 * SETTINGS(its struct) as the last row of its table.
 */
#ifndef DSA_SETTINGS_H
#define DSA_SETTINGS_H

#include "cmd/common/argument.h"

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
	SETTINGS_COUNT
};

/* What was given, as typed, "1" of a flag; NULL: not given. Begins all 0. */
struct settings {
	const char *given[SETTINGS_COUNT];
	unsigned cores; /* that the work may use */
	uint64_t steps, seed;
};

extern const struct argument settings_arguments[];

/* Checks what was given, and notes it. */
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
