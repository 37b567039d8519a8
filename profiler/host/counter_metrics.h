/*
 * counter_metrics.h - the metrics that counters.h promises: their ladder, and one thread's
 * readings. Used by counters.c.
 */
#ifndef DSA_COUNTER_METRICS_H
#define DSA_COUNTER_METRICS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters_config;
struct counters_support;

enum metrics_metric {
	METRICS_CYCLES,
	METRICS_INSTRUCTIONS,
	METRICS_CACHE_MISSES,
	METRICS_BRANCH_MISSES,
	METRICS_TASK_CLOCK,
	METRICS_MINOR_FAULTS,
	METRICS_MAJOR_FAULTS,
	METRICS_SWITCHES,
	METRICS_MIGRATIONS,
	METRICS_VOLUNTARY,
	METRICS_QUEUE_WAIT,
	METRICS_READ_BYTES,
	METRICS
};

/* In falling order of what they can do. */
enum metrics_rung {
	METRICS_UNREAD,
	METRICS_LIBPFM4,
	METRICS_GENERIC,
	METRICS_SOFTWARE,
	METRICS_PROC,
	METRICS_NONE
};

enum { METRICS_GROUP = 4, METRICS_GROUPS = 3 }; /* events a group, groups a thread */

/* Chosen once for the machine. */
struct metrics {
	const char *root;
	int (*open)(const struct perf_event_attr *attr, pid_t tid, int group);
	enum metrics_rung rung[METRICS];
	struct perf_event_attr attr[METRICS];
	int group[METRICS_GROUPS][METRICS_GROUP]; /* metrics; -1: no more */
	int hardware_code, software_code;         /* errno of the refusal; 0: none */
};

/* Who is counted. */
struct metrics_target {
	uint32_t pid, tid; /* tid 0: the whole process, by /proc alone */
	bool dead;
	int fd[METRICS_GROUPS][METRICS_GROUP]; /* -1: not open */
};

/* A count since some moment, and how long (ns) it was wanted and really on. */
struct metrics_value {
	uint64_t count, enabled, running;
};

struct metrics_reading {
	struct metrics_value value[METRICS];
	enum metrics_rung rung[METRICS];
};

/* Climbs down the ladder for each metric. Keeps what config points to. */
void metrics_init(struct metrics *metrics, const struct counters_config *config);
void metrics_support(const struct metrics *metrics, struct counters_support *support);

/* Starts counting a thread; what can't be opened comes from a lower rung. */
void metrics_attach(const struct metrics *metrics, struct metrics_target *target,
		    uint32_t pid, uint32_t tid);
void metrics_detach(struct metrics_target *target);

/*
 * Brings a reading up to date; what can't be read any more stays. The first one after
 * the thread ended still has its events; after that it returns false, as it does for
 * a thread that had ended before its first reading (last->rung all METRICS_UNREAD).
 */
bool metrics_read(const struct metrics *metrics, struct metrics_target *target,
		  struct metrics_reading *last);

/* *sum += to - from. */
void metrics_add(struct metrics_value *sum, const struct metrics_value *from,
		 const struct metrics_value *to);

/*
 * The sum in the metric's unit, scaled up by the share of time it was on a counter;
 * NAN when it never was.
 */
double metrics_scaled(const struct metrics_value *sum, enum metrics_metric metric,
		      double *running);

const char *metrics_name(enum metrics_metric metric); /* "cycles", "task_clock_s" */
const char *metrics_rung_name(enum metrics_rung rung);

#endif
