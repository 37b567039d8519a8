/*
 * metric.h - chooses the source of each metric of counters.h, and reads one thread's
 * counts. Private to counters.c.
 */
#ifndef DSA_METRIC_H
#define DSA_METRIC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters_config;
struct counters_support;

enum metric {
	METRIC_CYCLES,
	METRIC_INSTRUCTIONS,
	METRIC_CACHE_MISSES,
	METRIC_BRANCH_MISSES,
	METRIC_TASK_CLOCK,
	METRIC_MINOR_FAULTS,
	METRIC_MAJOR_FAULTS,
	METRIC_SWITCHES,
	METRIC_MIGRATIONS,
	METRIC_VOLUNTARY,
	METRIC_QUEUE_WAIT,
	METRIC_READ_BYTES,
	METRICS
};

/* Where a metric comes from, best first (counters.h). */
enum rung {
	RUNG_UNREAD,
	RUNG_LIBPFM4,
	RUNG_GENERIC,
	RUNG_SOFTWARE,
	RUNG_PROC,
	RUNG_NONE
};

enum { METRIC_GROUP = 4, METRIC_GROUPS = 3 }; /* events a group, groups a thread */

/* Chosen once for the machine. */
struct metrics {
	const char *root;
	int (*open)(const struct perf_event_attr *attr, pid_t tid, int group);
	enum rung rung[METRICS];
	struct perf_event_attr attr[METRICS];
	int group[METRIC_GROUPS][METRIC_GROUP]; /* metrics; -1: no more */
	int hardware_code, software_code;       /* errno of the refusal; 0: none */
};

/* A thread, or process, that is counted. */
struct metric_target {
	uint32_t pid, tid; /* tid 0: the whole process, by /proc alone */
	bool dead;
	int fd[METRIC_GROUPS][METRIC_GROUP]; /* -1: not open */
};

/* A count, and how long (ns) its event was enabled and on a hardware counter. */
struct metric_value {
	uint64_t count, enabled, running;
};

struct metric_reading {
	struct metric_value value[METRICS];
	enum rung rung[METRICS];
};

/* Chooses the best rung that works for each metric. Keeps what config points to. */
void metric_init(struct metrics *metrics, const struct counters_config *config);
void metric_support(const struct metrics *metrics, struct counters_support *support);

/* Starts counting a thread; what can't be opened comes from a lower rung. */
void metric_attach(const struct metrics *metrics, struct metric_target *target,
		   uint32_t pid, uint32_t tid);
void metric_detach(struct metric_target *target);

/*
 * Brings a reading up to date; what can't be read any more stays. The first one after
 * the thread ended still has its events; after that it returns false, as it does for
 * a thread that had ended before its first reading (last->rung all RUNG_UNREAD).
 */
bool metric_read(const struct metrics *metrics, struct metric_target *target,
		 struct metric_reading *last);

/* *sum += to - from. */
void metric_add(struct metric_value *sum, const struct metric_value *from,
		const struct metric_value *to);

/*
 * The sum in the metric's unit, scaled up by the share of time it was on a counter;
 * NAN when it never was.
 */
double metric_scaled(const struct metric_value *sum, enum metric metric,
		     double *running);

const char *metric_name(enum metric metric); /* "cycles", "task_clock_s" */
const char *rung_name(enum rung rung);

#endif
