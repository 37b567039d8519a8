/*
 * host_load.h - how busy the machine is, and how much of that is not the run's own
 * doing: CPU time, reads from the data set's device, tasks that wait, clock rate.
 *
 * Totals are read at two moments, and what lies between them is the load of that time.
 * In a container /proc may be the host's: whoever works on the same CPUs counts.
 */
#ifndef DSA_HOST_LOAD_H
#define DSA_HOST_LOAD_H

#include "loader/base/trace.h"
#include "profiler/host/dataset_device.h"

#include <sched.h>
#include <stdint.h>

struct children;

struct host_load_config {
	const char *root;              /* in front of /proc and /sys */
	uint32_t first;                /* own are this process and its descendants, */
	const struct children *others; /* but for these and theirs; NULL: for none */
	cpu_set_t cpus;                /* that the run may use, */
	double quota;                  /* and so many of them at once; 0: all */
	struct device_number disk;     /* of the data set; major 0: unknown */
};

/* Totals at a moment, of these CPUs and this disk; UINT64_MAX or NAN: unknown. */
struct host_load {
	uint64_t time_ns;
	uint64_t idle_ns, steal_ns;
	uint64_t counted_ns; /* of any use, idle too */
	uint64_t group_ns;   /* used by the control group that has the quota */
	uint64_t own_ns, own_bytes;
	uint64_t queue_ns, threads;       /* process_tree.h */
	uint64_t disk_bytes;              /* read from it by anyone */
	uint64_t cpu_wait_ns, io_wait_ns; /* some task waited */
	double load, hz;                  /* no totals: at that moment */
};

/* The CPUs that this process may use: `most` at most, the first ones; 0: all. None where
 * the kernel does not tell. */
cpu_set_t host_load_cpus(unsigned most);

/*
 * What this process may use: `most` CPUs at most, the first ones; 0: all. The run's own
 * processes are this one and its descendants, and the disk is unknown.
 */
void host_load_init(struct host_load_config *config, const char *root, unsigned most);

/* Takes some 0.1 ms, and 20 us for each own process and thread. */
void host_load_read(const struct host_load_config *config, struct host_load *now);

/* What lies between two moments. */
void host_load_between(const struct host_load_config *config,
		       const struct host_load *from, const struct host_load *to,
		       struct trace_load *load);

#endif
