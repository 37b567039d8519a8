/*
 * stage.h - the stages that share the wall time of a step: one table for all rooms.
 *
 * Each stage has a kind of window, in which it and the stages above it work. What such
 * a sample takes longer than in the windows of the stage above is the stage's time, so
 * that the shares sum to 1 by construction. The last kind is the run as it is.
 */
#ifndef DSA_STAGE_H
#define DSA_STAGE_H

#include "loader/base/trace.h"

#include <stdbool.h>

/*
 * X(ID, key, optional, waits for, ...): its STAGE_ID; its key in results; whether runs
 * without its windows are complete, and then have no key, row or column of it; what its
 * stall waits for; and the rest of struct stage_info. To add a stage: its entry here,
 * in order; the kind of its windows in loader/base/trace.h, and their measurement.
 */
#define STAGE_COMPUTE_ROW(X)                                                           \
	X(COMPUTE, "compute", false, "nothing", .kind = TRACE_SYNTHETIC, .ink = 4,     \
	  .cell = "█", .colour = "\x1b[32m", .name = "Compute", .title = "Compute",    \
	  .about = "the training step itself",                                         \
	  .window = "Synthetic: batches prepared before")

#define STAGE_STALLS(X)                                                                \
	X(COPY, "copy", true, "copies to the device", .kind = TRACE_COPIED, .ink = 7,  \
	  .cell = "▓", .colour = "\x1b[35m", .name = "Copy", .title = "Copy stall",    \
	  .cause = "copying to the device",                                            \
	  .about = "waiting for copies to the device",                                 \
	  .window = "Copied: batches ready in host memory")                            \
	X(PREP, "prep", false, "prep", .kind = TRACE_CACHED, .ink = 5, .cell = "▒",    \
	  .colour = "\x1b[33m", .pattern = "hatch", .name = "Prep",                    \
	  .title = "Prep stall", .cause = "preparation",                               \
	  .about = "waiting for decoding, cropping, normalising",                      \
	  .window = "Cached: files from memory, really prepared")                      \
	X(FETCH, "fetch", false, "bytes", .kind = TRACE_REAL, .ink = 6, .cell = "░",   \
	  .colour = "\x1b[34m", .pattern = "dots", .name = "Fetch",                    \
	  .title = "Fetch stall", .cause = "storage",                                  \
	  .about = "waiting for bytes from storage or cache",                          \
	  .window = "Real: storage and cache as asked")

#define STAGE_TABLE(X) STAGE_COMPUTE_ROW(X) STAGE_STALLS(X)

/* A stall below this share limits nothing that anyone would act on. */
#define STAGE_NOTICED .01

enum stage {
#define STAGE_NUMBER(id, ...) STAGE_##id,
	STAGE_TABLE(STAGE_NUMBER)
#undef STAGE_NUMBER
		STAGES,
	STAGE_REAL = STAGES - 1 /* whose windows are the run as it is */
};

struct stage_info {
	const char *key; /* also its CSS class, and its name among what limits */
	bool optional;
	enum trace_kind kind; /* its windows */
	const char *name;     /* "Prep" */
	const char *title;    /* "Prep stall" */
	const char *label;    /* "prep stall" */
	const char *cause;    /* what training waits for: "preparation" */
	const char *about;    /* one line */
	const char *window;   /* its windows in a line */
	int ink;              /* of the page: --ink-N */
	const char *pattern;  /* over it in the page's bar; NULL: none */
	const char *cell;     /* of the terminal's bar */
	const char *colour;   /* of the terminal: an escape sequence */
};

extern const struct stage_info stage_table[STAGES];

/* The stage of a kind of window; STAGES: it has none. */
enum stage stage_of_kind(enum trace_kind kind);

/* Whether windows of the loader show the stage: copies are of one that has a device. */
bool stage_applies(enum stage stage, const struct trace_loader *loader);

/* How many stages they show. */
unsigned stage_count(const struct trace_loader *loader);

/*
 * Shares from the time of a sample in each stage's windows; NAN: there were none of an
 * optional stage, whose share is NAN then. All are NAN below another that is.
 */
void stage_split(const double times[STAGES], double shares[STAGES]);

#endif
