/*
 * window.h - one window of a session: how long its steps took, and what proves it.
 */
#ifndef DSA_WINDOW_H
#define DSA_WINDOW_H

#include "loader/base/trace.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What a window's time goes with.
 *
 * Bytes, encoded, that were prepared, and that were read, beyond what as many samples as
 * it delivered take on average over the whole data set: it had other samples by chance, or
 * ended with more, or fewer, under way than it began with.
 *
 * CPU seconds of the program itself, without the loader's: its work for a sample is the same
 * in every window, and what it takes is how fast the machine is.
 */
enum window_covariate {
	WINDOW_PREPARED,
	WINDOW_READ,
	WINDOW_OWN_CPU,
	WINDOW_COVARIATES,
};

struct window {
	const struct trace *trace;      /* whose window it is, */
	const struct trace_window *raw; /* and what the session has of it */
	enum trace_kind kind;
	unsigned flags; /* of the request: TRACE_DRAW ... */
	int block;      /* -1: none */
	bool ended;     /* the driver finished it */
	bool certified; /* it ended, and its own counters prove what it measured */
	char why[160];  /* what certifies it, or why it is void */
	bool no_list;   /* batches can't be given again: there are no cached windows */
	double hit;     /* asked, with TRACE_DRAW; */
	unsigned part;  /* of the epoch, that this has then (epoch_parts.h) */
	unsigned workers, depth; /* asked; 0: as configured */
	double steps, samples;   /* measured, pauses left out */
	double seconds;          /* of these */
	double blocked_s;        /* of this, inside dsa_next() */
	double outside_s;        /* pauses found and left out */
	double typical_ns;       /* what a step computes; 0: there is none, INFINITY: no
				  * step of it is a pause */
	double begin_s, end_s;   /* of the measured part, since the session began */
	double covariate[WINDOW_COVARIATES]; /* NAN: not counted, or not known of all */

	/* disturbance.h, of all windows of a run together: */
	double disturbance; /* so much of its time others may have cost it, a share */
	bool left_out;      /* other windows stand for it */
};

/*
 * Measures window `index` of the session; it may be running, or its target dead. The
 * session must outlive *window. A step whose compute part is above 50 ms and above 8
 * times the window's median is a pause (evaluation, a checkpoint, the runtime), and is
 * left out; but not where such steps come again and again, and nothing is computed besides:
 * the program takes several batches before it computes.
 */
void window_measure(const struct trace *trace, unsigned index, struct window *window);

/* Writes into window->why what proves it, or why it is void. Returns `proven`. */
bool window_judge(struct window *window, bool proven, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* Windows that the session holds: asked, and in range even if the file is damaged. */
unsigned window_count(const struct trace *trace);

/* Step records of a window, cut to what the file holds; *count of them. */
const struct trace_step *window_steps(const struct window *window, size_t *count);

/* The same for its sample records. */
const struct trace_sample *window_samples(const struct window *window, size_t *count);

/* The same for batches that a loader of the program's own made. */
const struct trace_batch *window_batches(const struct window *window, size_t *count);

/* True where a thread reads ahead of the one that trains, which took more from its queue than
 * the thread put there: it waited less than it would for long. */
bool window_empties_queue(const struct window *window);

/* True where one step of the record, which is of the window, is a pause; how much longer that is
 * than a step; and true where the window has nothing of the record, but its time outside. */
bool window_holds_pause(const struct window *window, const struct trace_step *step);
double window_pause_ns(const struct window *window, const struct trace_step *step);
bool window_leaves_out(const struct window *window, const struct trace_step *step);

/* What else the machine did during it. */
const struct trace_load *window_load(const struct window *window);

/* Reads in flight in a fetch window. */
unsigned window_depth(const struct window *window);

/* What a counter of the driver grew by in the measured part. */
uint64_t window_counted(const struct trace_window *window, enum trace_counter counter);

/* Bytes that the process read from storage in that part; UINT64_MAX: unknown. */
uint64_t window_read_bytes(const struct trace_window *window);

/* What the program itself read in that part, by system calls beside the loader. */
struct window_calls {
	uint64_t reads, bytes;
};

/* False: unknown. Of no real window, where a process hides it, or where a job left the
 * loader that it shared. */
bool window_program_reads(const struct trace_window *window,
			  struct window_calls *calls);

/* Of how batches read that was no call (enum trace_unseen): what they read; the first. */
const char *window_unseen(uint32_t unseen);

/* True when both were asked for the same: a kind of one block, or one point of a curve. */
bool window_is_alike(const struct trace_window *a, const struct trace_window *b);

/* True for the kinds that deliver batches to the training step. */
bool window_delivers(enum trace_kind kind);

#endif
