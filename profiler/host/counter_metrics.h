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

enum counter_metrics_metric {
	COUNTER_METRICS_CYCLES,
	COUNTER_METRICS_INSTRUCTIONS,
	COUNTER_METRICS_CACHE_MISSES,
	COUNTER_METRICS_BRANCH_MISSES,
	COUNTER_METRICS_TASK_CLOCK,
	COUNTER_METRICS_MINOR_FAULTS,
	COUNTER_METRICS_MAJOR_FAULTS,
	COUNTER_METRICS_SWITCHES,
	COUNTER_METRICS_MIGRATIONS,
	COUNTER_METRICS_VOLUNTARY,
	COUNTER_METRICS_QUEUE_WAIT,
	COUNTER_METRICS_READ_BYTES,
	COUNTER_METRICS
};

/* In falling order of what they can do. */
enum counter_metrics_rung {
	COUNTER_METRICS_UNREAD,
	COUNTER_METRICS_LIBPFM4,
	COUNTER_METRICS_GENERIC,
	COUNTER_METRICS_SOFTWARE,
	COUNTER_METRICS_PROC,
	COUNTER_METRICS_NONE
};

enum {
	COUNTER_METRICS_GROUP = 4,
	COUNTER_METRICS_GROUPS = 3
}; /* events a group, groups a thread */

/* Chosen once for the machine. */
struct metrics {
	const char *root;
	int (*open)(const struct perf_event_attr *attr, pid_t tid, int group);
	enum counter_metrics_rung rung[COUNTER_METRICS];
	struct perf_event_attr attr[COUNTER_METRICS];
	int group[COUNTER_METRICS_GROUPS]
		 [COUNTER_METRICS_GROUP]; /* metrics; -1: no more */
	int hardware_code, software_code; /* errno of the refusal; 0: none */
};

/* Who is counted. */
struct counter_metrics_target {
	uint32_t pid, tid; /* tid 0: the whole process, by /proc alone */
	bool dead;
	int fd[COUNTER_METRICS_GROUPS][COUNTER_METRICS_GROUP]; /* -1: not open */
};

/* A count since some moment, and how long (ns) it was wanted and really on. */
struct counter_metrics_value {
	uint64_t count, enabled, running;
};

struct counter_metrics_reading {
	struct counter_metrics_value value[COUNTER_METRICS];
	enum counter_metrics_rung rung[COUNTER_METRICS];
};

/* Climbs down the ladder for each metric. Keeps what config points to. */
void counter_metrics_init(struct metrics *metrics,
			  const struct counters_config *config);
void counter_metrics_support(const struct metrics *metrics,
			     struct counters_support *support);

/* Starts counting a thread; what can't be opened comes from a lower rung. */
void counter_metrics_attach(const struct metrics *metrics,
			    struct counter_metrics_target *target, uint32_t pid,
			    uint32_t tid);
void counter_metrics_detach(struct counter_metrics_target *target);

/*
 * Brings a reading up to date; what can't be read any more stays. The first one after
 * the thread ended still has its events; after that it returns false, as it does for
 * a thread that had ended before its first reading (last->rung all COUNTER_METRICS_UNREAD).
 */
bool counter_metrics_read(const struct metrics *metrics,
			  struct counter_metrics_target *target,
			  struct counter_metrics_reading *last);

/* *sum += to - from. */
void counter_metrics_add(struct counter_metrics_value *sum,
			 const struct counter_metrics_value *from,
			 const struct counter_metrics_value *to);

/*
 * The sum in the metric's unit, scaled up by the share of time it was on a counter;
 * NAN when it never was.
 */
double counter_metrics_scaled(const struct counter_metrics_value *sum,
			      enum counter_metrics_metric metric, double *running);

const char *
counter_metrics_name(enum counter_metrics_metric metric); /* "cycles", "task_clock_s" */
const char *counter_metrics_rung_name(enum counter_metrics_rung rung);

#endif
