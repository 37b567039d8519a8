/*
 * performer.h - a schedule, and a made-up program that does the windows it asks for:
 * its steps take so long, with noise.
 */
#ifndef DSA_TESTS_PERFORMER_H
#define DSA_TESTS_PERFORMER_H

#include "loader/base/random.h"
#include "profiler/schedule/schedule.h"
#include "tests/lib/session.h"

enum {
	PERFORMER_BATCH = 32,
	PERFORMER_SENT = 100 /* bytes of a sample, to a device */
};

struct performer {
	struct schedule *schedule;
	struct trace *trace;
	struct random random;
	double step_ms[TRACE_KINDS];
	double noise;             /* standard deviation of a window's rate, relative; */
	bool steady[TRACE_KINDS]; /* but of these none */
	double filled;            /* part of the data set that is in the cache */
	unsigned void_every;      /* each so many-th window is void; 0: none */
	enum trace_kind void_kind;
	unsigned done;          /* windows of that kind, where some are void */
	unsigned quiet_every;   /* others disturb all windows but each so many-th; 0: */
	double disturbed_until; /* those that begin before so many seconds */
};

/* 60 s, to a point. */
extern const struct schedule_config performer_usual;

/* Steps of 20 ms real, 15 cached, 10 synthetic; noise of 1 %. */
struct performer performer_new(const struct schedule_config *config);
void performer_free(struct performer *performer);

/* Seconds of the program that passed. */
double performer_elapsed(const struct performer *performer);

/* Does the next window that was asked for. */
void performer_do(struct performer *performer);

/* Goes on until the schedule says stop; returns its last word. */
enum schedule_step performer_run(struct performer *performer);

/* Asks for a window, or does one; or says stop. */
enum schedule_step performer_next(struct performer *performer);

/* True when others disturbed the window. */
bool performer_is_disturbed(const struct trace *trace, unsigned index);

/* Windows that were asked for. */
unsigned performer_count(const struct trace *trace, enum trace_kind kind);

#endif
