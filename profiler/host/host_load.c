/* host_load.c - reads /proc/stat, diskstats, pressure and the run's own processes. */
#include "profiler/host/host_load.h"
#include "loader/base/clock.h"
#include "loader/base/host/cgroup.h"
#include "loader/base/host/procfs.h"
#include "profiler/host/process_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNREAD UINT64_MAX

enum {
	SECTOR = 512,   /* of /proc/diskstats, whatever the device has */
	CLOCKS_SEEN = 8 /* CPUs whose clock rate is looked at */
};

/* Columns of a CPU in /proc/stat. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

/* /proc/stat has a line a CPU, before longer ones that we do not need. */
enum { STAT_TEXT = 1 << 16 };

cpu_set_t host_load_cpus(unsigned most)
{
	cpu_set_t set;
	unsigned kept = 0;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		CPU_ZERO(&set);
	for (unsigned cpu = 0; most > 0 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && kept++ >= most)
			CPU_CLR(cpu, &set);
	return set;
}

void host_load_init(struct host_load_config *config, const char *root, unsigned most)
{
	struct cgroup cgroup;

	*config = (struct host_load_config){.root = root,
					    .first = (uint32_t)getpid(),
					    .cpus = host_load_cpus(most)};
	cgroup_read(&cgroup, root);
	if (cgroup.cpus < CPU_COUNT(&config->cpus))
		config->quota = cgroup.cpus;
}

/* ---- at a moment ---- */

static void host_load_add_cpu(struct host_load *now,
			      const unsigned long long ticks[COLUMNS])
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), sum = 0;

	for (int i = 0; i < COLUMNS; i++)
		sum += ticks[i];
	now->counted_ns += tick_ns * sum;
	now->idle_ns += tick_ns * (ticks[IDLE] + ticks[IOWAIT]);
	now->steal_ns += tick_ns * ticks[STEAL];
}

/* "cpu3 1 2 3 ...". False for the sum of all CPUs, which has no number. */
static bool read_columns(const char *line, unsigned *cpu, unsigned long long t[COLUMNS])
{
	return line[3] != ' ' &&
	       sscanf(line,
		      "cpu%4u %19llu %19llu %19llu %19llu %19llu %19llu %19llu %19llu",
		      cpu, &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT],
		      &t[IRQ], &t[SOFTIRQ], &t[STEAL]) == 1 + COLUMNS;
}

/* Adds up the CPUs' lines, which come first. Returns how many there were. */
static int host_load_add_cpus(const char *line, const cpu_set_t *cpus,
			      struct host_load *now)
{
	unsigned long long ticks[COLUMNS];
	unsigned cpu;
	int found = 0;

	for (; strncmp(line, "cpu", 3) == 0; line += strspn(line, "\n")) {
		if (read_columns(line, &cpu, ticks) && cpu < CPU_SETSIZE &&
		    CPU_ISSET(cpu, cpus)) {
			host_load_add_cpu(now, ticks);
			found++;
		}
		line += strcspn(line, "\n");
	}
	return found;
}

static void read_cpus(const struct host_load_config *config, struct host_load *now)
{
	char text[STAT_TEXT];
	int found;

	now->idle_ns = now->steal_ns = now->counted_ns = 0;
	procfs_read(text, sizeof(text), config->root, "/proc/stat");
	found = host_load_add_cpus(text, &config->cpus, now);
	if (found == 0 || found < CPU_COUNT(&config->cpus))
		now->idle_ns = now->steal_ns = now->counted_ns = UNREAD;
}

static void host_load_read_own(const struct host_load_config *config,
			       struct host_load *now)
{
	struct process_tree_use own;

	now->own_ns = now->own_bytes = now->queue_ns = UNREAD;
	now->threads = 0;
	if (!process_tree_read(config->root, config->first, config->others, &own))
		return;
	now->own_ns = own.cpu_ns;
	now->own_bytes = own.read_bytes;
	now->queue_ns = own.queue_ns;
	now->threads = own.threads;
}

static uint64_t read_disk(const struct host_load_config *config)
{
	unsigned long long sectors;
	struct device_number disk;
	char text[STAT_TEXT];

	if (config->disk.major == 0)
		return UNREAD;
	procfs_read(text, sizeof(text), config->root, "/proc/diskstats");
	for (const char *line = text; *line != '\0'; line += strspn(line, "\n")) {
		if (sscanf(line, " %9u %9u %*s %*u %*u %19llu", &disk.major,
			   &disk.minor, &sectors) == 3 &&
		    disk.major == config->disk.major &&
		    disk.minor == config->disk.minor)
			return sectors * SECTOR;
		line += strcspn(line, "\n");
	}
	return UNREAD;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds. */
static uint64_t read_pressure(const struct host_load_config *config, const char *what)
{
	unsigned long long total;
	char text[256];

	if (procfs_read(text, sizeof(text), config->root, "/proc/pressure/%s", what) <=
		    0 ||
	    sscanf(text, "some %*s %*s %*s total=%19llu", &total) != 1)
		return UNREAD;
	return total * 1000;
}

static double read_load(const struct host_load_config *config)
{
	char text[64];

	return procfs_read(text, sizeof(text), config->root, "/proc/loadavg") > 0
		       ? strtod(text, NULL)
		       : NAN;
}

/* The mean of some CPUs; NAN where the kernel does not show it, as in most guests. */
static double read_hz(const struct host_load_config *config)
{
	unsigned seen = 0;
	double sum = 0;

	for (unsigned cpu = 0; cpu < CPU_SETSIZE && seen < CLOCKS_SEEN; cpu++) {
		uint64_t khz;

		if (!CPU_ISSET(cpu, &config->cpus))
			continue;
		if (!procfs_number(
			    &khz, config->root,
			    "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
			    cpu))
			return NAN;
		sum += 1e3 * (double)khz;
		seen++;
	}
	return sum / seen;
}

void host_load_read(const struct host_load_config *config, struct host_load *now)
{
	now->time_ns = clock_now();
	read_cpus(config, now);
	now->group_ns = config->quota > 0 ? cgroup_cpu_used(config->root) : UNREAD;
	host_load_read_own(config, now);
	now->disk_bytes = read_disk(config);
	now->cpu_wait_ns = read_pressure(config, "cpu");
	now->io_wait_ns = read_pressure(config, "io");
	now->load = read_load(config);
	now->hz = read_hz(config);
}

/* ---- between two ---- */

/* What a total grew by; one that fell is unknown. */
static uint64_t host_load_grown(uint64_t from, uint64_t to)
{
	return from == UNREAD || to == UNREAD || to < from ? UNREAD : to - from;
}

static uint64_t beyond(uint64_t all, uint64_t own)
{
	if (all == UNREAD || own == UNREAD)
		return UNREAD;
	return all > own ? all - own : 0;
}

/*
 * All time of the CPUs that was not idle: idle time is exact where ticks only sample who
 * runs. A kernel that counts for no column has no idle time to tell either.
 */
static uint64_t host_load_used(const struct host_load *from, const struct host_load *to,
			       uint64_t cpu_ns)
{
	uint64_t counted = host_load_grown(from->counted_ns, to->counted_ns);

	if (counted == UNREAD || counted < cpu_ns / 2)
		return UNREAD;
	return beyond(cpu_ns, host_load_grown(from->idle_ns, to->idle_ns));
}

/* CPU time that there was, and what was used of it. */
struct cpu_use {
	uint64_t there, used, steal;
};

/* Of the CPUs, or of the quota, whichever was used to a larger part. */
static struct cpu_use host_load_cpu(const struct host_load_config *config,
				    const struct host_load *from,
				    const struct host_load *to)
{
	uint64_t length = to->time_ns - from->time_ns;
	struct cpu_use cpus = {
		.there = length * (uint64_t)CPU_COUNT(&config->cpus),
		.steal = host_load_grown(from->steal_ns, to->steal_ns),
	};
	struct cpu_use group = {
		.there = (uint64_t)((double)length * config->quota),
		.used = host_load_grown(from->group_ns, to->group_ns),
	};

	cpus.used = host_load_used(from, to, cpus.there);
	if (group.used == UNREAD ||
	    (cpus.used != UNREAD && (double)cpus.used * (double)group.there >
					    (double)group.used * (double)cpus.there))
		return cpus;
	return group;
}

void host_load_between(const struct host_load_config *config,
		       const struct host_load *from, const struct host_load *to,
		       struct trace_load *load)
{
	struct cpu_use cpu = host_load_cpu(config, from, to);
	uint64_t own = host_load_grown(from->own_ns, to->own_ns);
	uint64_t read = host_load_grown(from->own_bytes, to->own_bytes);
	uint64_t disk = host_load_grown(from->disk_bytes, to->disk_bytes);
	uint64_t others = beyond(cpu.used, own);

	if (others < cpu.steal && cpu.steal != UNREAD)
		cpu.steal = others;
	*load = (struct trace_load){
		.length_ns = to->time_ns - from->time_ns,
		.cpu_ns = cpu.there,
		.own_ns = own,
		.others_ns = beyond(others, cpu.steal),
		.steal_ns = cpu.steal,
		.queue_ns = from->threads != to->threads
				    ? UNREAD
				    : host_load_grown(from->queue_ns, to->queue_ns),
		.own_bytes = read,
		.others_bytes = beyond(disk, read),
		.cpu_wait_ns = host_load_grown(from->cpu_wait_ns, to->cpu_wait_ns),
		.io_wait_ns = host_load_grown(from->io_wait_ns, to->io_wait_ns),
		.load = to->load,
		.hz = to->hz,
	};
}
