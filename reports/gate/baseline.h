/*
 * baseline.h - a side of a comparison as a file that is meant to be committed, and
 * back.
 *
 * JSON with sorted keys, one sample a line of its metric, so that a diff says what
 * changed. dsa-baseline(5) describes every key. What is written, read and written again
 * is the same text. Read from anybody: sizes and numbers are checked.
 */
#ifndef DSA_BASELINE_H
#define DSA_BASELINE_H

#include "models/gate/gate_side.h"
#include "profiler/field.h"

#include <stdio.h>

struct error;

#define BASELINE_SCHEMA "dsa.baseline/1"

enum {
	BASELINE_SESSIONS = 64,   /* the oldest are dropped beyond */
	BASELINE_REPETITIONS = 64 /* of a session; the first are kept */
};

/* Where the file holds what about a side; the test of dsa-baseline.5 follows it. */
extern const struct field baseline_fields[];

/*
 * 0; -ENOMEM; -EBADMSG: a number is none that would be read again, named; or -errno
 * when out failed. The data set's name is the last of its path; the directory and facts
 * that pass (time, free memory, name of the device) are left out.
 */
int baseline_write(const struct gate_side *side, FILE *out, struct error *err);

/* Whole, or not at all. */
int baseline_save(const struct gate_side *side, const char *path, struct error *err);

/* Fills *side, which the caller ends with gate_side_free(). -EPROTO: another schema,
 * named; -EBADMSG: damaged, where. On failure *side is empty. */
int baseline_read(const char *text, size_t size, struct gate_side *side,
		  struct error *err);
int baseline_load(const char *path, struct gate_side *side, struct error *err);

/* The same from a baseline, or from run.json (gate_side_of_run()). */
int baseline_load_any(const char *path, struct gate_side *side, struct error *err);

#endif
