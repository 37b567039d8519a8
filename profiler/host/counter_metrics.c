#include "profiler/host/counter_metrics.h"
#include "profiler/host/counters.h"
#include "profiler/host/procfs.h"
#include "profiler/host/thread_files.h"

#include <errno.h>
#include <math.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_EVENT UINT32_MAX

static const struct {
	const char *name;
	double unit;          /* of one count */
	const char *named[4]; /* what makers of CPUs call it */
	uint32_t type;        /* of the kernel's event, or NO_EVENT */
	uint64_t config;
	bool (*proc)(struct thread_files *files, uint64_t *value);
} table[COUNTER_METRICS] = {
	[COUNTER_METRICS_CYCLES] = {"cycles",
				    1,
				    {"UNHALTED_CORE_CYCLES", "CYCLES_NOT_IN_HALT",
				     "CPU_CYCLES"},
				    PERF_TYPE_HARDWARE,
				    PERF_COUNT_HW_CPU_CYCLES,
				    NULL},
	[COUNTER_METRICS_INSTRUCTIONS] = {"instructions",
					  1,
					  {"INSTRUCTION_RETIRED",
					   "RETIRED_INSTRUCTIONS", "INST_RETIRED"},
					  PERF_TYPE_HARDWARE,
					  PERF_COUNT_HW_INSTRUCTIONS,
					  NULL},
	[COUNTER_METRICS_CACHE_MISSES] = {"cache_misses",
					  1,
					  {"LLC_MISSES", "LONGEST_LAT_CACHE:MISS"},
					  PERF_TYPE_HARDWARE,
					  PERF_COUNT_HW_CACHE_MISSES,
					  NULL},
	[COUNTER_METRICS_BRANCH_MISSES] = {"branch_misses",
					   1,
					   {"MISPREDICTED_BRANCH_RETIRED",
					    "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED",
					    "BR_MIS_PRED"},
					   PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BRANCH_MISSES,
					   NULL},
	[COUNTER_METRICS_TASK_CLOCK] = {"task_clock_s",
					1e-9,
					{NULL},
					PERF_TYPE_SOFTWARE,
					PERF_COUNT_SW_TASK_CLOCK,
					thread_files_task_clock},
	[COUNTER_METRICS_MINOR_FAULTS] = {"minor_faults",
					  1,
					  {NULL},
					  PERF_TYPE_SOFTWARE,
					  PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  thread_files_minor_faults},
	[COUNTER_METRICS_MAJOR_FAULTS] = {"major_faults",
					  1,
					  {NULL},
					  PERF_TYPE_SOFTWARE,
					  PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					  thread_files_major_faults},
	[COUNTER_METRICS_SWITCHES] = {"context_switches",
				      1,
				      {NULL},
				      PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_CONTEXT_SWITCHES,
				      thread_files_switches},
	[COUNTER_METRICS_MIGRATIONS] = {"migrations",
					1,
					{NULL},
					PERF_TYPE_SOFTWARE,
					PERF_COUNT_SW_CPU_MIGRATIONS,
					NULL},
	[COUNTER_METRICS_VOLUNTARY] =
		{"voluntary_switches", 1, {NULL}, NO_EVENT, 0, thread_files_voluntary},
	[COUNTER_METRICS_QUEUE_WAIT] = {"run_queue_wait_s",
					1e-9,
					{NULL},
					NO_EVENT,
					0,
					thread_files_queue_wait},
	[COUNTER_METRICS_READ_BYTES] =
		{"storage_read_bytes", 1, {NULL}, NO_EVENT, 0, thread_files_read_bytes},
};

static int perf_open(const struct perf_event_attr *attr, pid_t tid, int group)
{
	struct perf_event_attr copy = *attr; /* the kernel may write into it */
	long fd = syscall(SYS_perf_event_open, &copy, tid, -1, group,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* True when the event opens on this thread; else *code says why, if nothing did yet. */
static bool try_event(const struct metrics *metrics, struct perf_event_attr *attr,
		      int *code)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			    PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = metrics->open(attr, 0, -1);
	if (fd >= 0)
		close(fd);
	else if (*code == 0)
		*code = -fd;
	return fd >= 0;
}

static bool try_named(struct metrics *metrics, int metric)
{
	const size_t most = sizeof(table[0].named) / sizeof(table[0].named[0]);

	for (size_t i = 0; i < most && table[metric].named[i] != NULL; i++) {
		struct perf_event_attr *attr = &metrics->attr[metric];
		pfm_perf_encode_arg_t encode = {.attr = attr, .size = sizeof(encode)};
		int ignored = 0; /* the generic event's reason is told */

		memset(attr, 0, sizeof(*attr));
		if (pfm_get_os_event_encoding(table[metric].named[i], PFM_PLM3,
					      PFM_OS_PERF_EVENT,
					      &encode) == PFM_SUCCESS &&
		    try_event(metrics, attr, &ignored))
			return true;
	}
	return false;
}

/*
 * Hardware events count user code alone, which everyone may. The kernel's events
 * happen inside the kernel: without leave to look there they would all read 0, and
 * /proc knows better.
 */
static bool try_generic(struct metrics *metrics, int metric)
{
	bool hardware = table[metric].type == PERF_TYPE_HARDWARE;

	if (table[metric].type == NO_EVENT)
		return false;
	metrics->attr[metric] = (struct perf_event_attr){
		.type = table[metric].type,
		.config = table[metric].config,
		.exclude_kernel = hardware,
		.exclude_hv = hardware,
	};
	return try_event(metrics, &metrics->attr[metric],
			 hardware ? &metrics->hardware_code : &metrics->software_code);
}

static enum counter_metrics_rung find_rung(struct metrics *metrics, int metric)
{
	if (try_named(metrics, metric))
		return COUNTER_METRICS_LIBPFM4;
	if (try_generic(metrics, metric))
		return table[metric].type == PERF_TYPE_HARDWARE
			       ? COUNTER_METRICS_GENERIC
			       : COUNTER_METRICS_SOFTWARE;
	return table[metric].proc != NULL ? COUNTER_METRICS_PROC : COUNTER_METRICS_NONE;
}

/* Fills groups with the events of one kind, from group number `next` on. */
static int make_groups(struct metrics *metrics, bool hardware, int next)
{
	int used = 0;

	for (int i = 0; i < COUNTER_METRICS && next < COUNTER_METRICS_GROUPS; i++) {
		if (metrics->rung[i] > COUNTER_METRICS_SOFTWARE ||
		    (metrics->rung[i] < COUNTER_METRICS_SOFTWARE) != hardware)
			continue;
		metrics->group[next][used++] = i;
		if (used == COUNTER_METRICS_GROUP) {
			used = 0;
			next++;
		}
	}
	return next + (used > 0);
}

void counter_metrics_init(struct metrics *metrics, const struct counters_config *config)
{
	memset(metrics, 0, sizeof(*metrics));
	metrics->root = config->root != NULL ? config->root : "";
	metrics->open = config->open != NULL ? config->open : perf_open;
	pfm_initialize(); /* on failure no name is known, and the next rung serves */
	for (int i = 0; i < COUNTER_METRICS; i++)
		metrics->rung[i] = find_rung(metrics, i);
	memset(metrics->group, -1, sizeof(metrics->group));
	make_groups(metrics, false, make_groups(metrics, true, 0));
}

static bool counter_metrics_refused(int code)
{
	return code == EACCES || code == EPERM;
}

static void counter_metrics_explain(struct counters_support *support, const char *fix,
				    const char *why, ...)
	__attribute__((format(printf, 3, 4)));

static void counter_metrics_explain(struct counters_support *support, const char *fix,
				    const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(support->why, sizeof(support->why), why, args);
	va_end(args);
	snprintf(support->fix, sizeof(support->fix), "%s", fix);
}

static void explain_refusal(const struct metrics *metrics,
			    struct counters_support *support)
{
	bool hardware = counter_metrics_refused(metrics->hardware_code);
	int code = hardware ? metrics->hardware_code : metrics->software_code;
	uint64_t paranoid, needed = hardware ? 2 : 1;

	if (procfs_number(&paranoid, metrics->root,
			  "/proc/sys/kernel/perf_event_paranoid") &&
	    paranoid > needed)
		counter_metrics_explain(
			support, "sysctl -w kernel.perf_event_paranoid=1",
			"kernel.perf_event_paranoid is %llu; user code needs 2, the "
			"kernel's events 1",
			(unsigned long long)paranoid);
	else
		counter_metrics_explain(
			support,
			"docker run --cap-add PERFMON, and a seccomp profile that "
			"allows perf_event_open",
			"perf_event_open is refused: %s", strerrordesc_np(code));
}

void counter_metrics_support(const struct metrics *metrics,
			     struct counters_support *support)
{
	enum counter_metrics_rung rung = metrics->rung[COUNTER_METRICS_INSTRUCTIONS];

	*support = (struct counters_support){
		.hardware = rung < COUNTER_METRICS_SOFTWARE
				    ? counter_metrics_rung_name(rung)
				    : NULL,
		.kernel = counter_metrics_rung_name(
			metrics->rung[COUNTER_METRICS_TASK_CLOCK]),
	};
	if (counter_metrics_refused(metrics->hardware_code) ||
	    counter_metrics_refused(metrics->software_code))
		explain_refusal(metrics, support);
	else if (metrics->hardware_code == ENOSYS)
		counter_metrics_explain(support, "a kernel with CONFIG_PERF_EVENTS",
					"this kernel has no perf events");
	else if (support->hardware == NULL)
		counter_metrics_explain(
			support,
			"the bare machine, or a virtual one whose host passes the PMU "
			"on",
			"the machine shows no hardware counters");
}

void counter_metrics_attach(const struct metrics *metrics,
			    struct counter_metrics_target *target, uint32_t pid,
			    uint32_t tid)
{
	*target = (struct counter_metrics_target){.pid = pid, .tid = tid};
	memset(target->fd, -1, sizeof(target->fd));
	for (int group = 0; group < COUNTER_METRICS_GROUPS && tid != 0; group++) {
		int leader = -1;

		for (int i = 0; i < COUNTER_METRICS_GROUP; i++) {
			int fd, metric = metrics->group[group][i];

			if (metric < 0)
				break;
			fd = metrics->open(&metrics->attr[metric], (pid_t)tid, leader);
			target->fd[group][i] = fd;
			if (fd >= 0 && leader < 0)
				leader = fd;
		}
	}
}

void counter_metrics_detach(struct counter_metrics_target *target)
{
	for (int group = 0; group < COUNTER_METRICS_GROUPS; group++)
		for (int i = COUNTER_METRICS_GROUP - 1; i >= 0; i--) {
			if (target->fd[group][i] >= 0)
				close(target->fd[group][i]);
			target->fd[group][i] = -1;
		}
	target->dead = true;
}

/* One read brings the whole group, in the order in which its events were opened. */
static void read_group(const struct metrics *metrics,
		       const struct counter_metrics_target *target, int group,
		       struct counter_metrics_reading *now)
{
	struct {
		uint64_t count, enabled, running, value[COUNTER_METRICS_GROUP];
	} data;
	const int *fd = target->fd[group];
	uint64_t next = 0;
	int leader = 0;

	while (leader < COUNTER_METRICS_GROUP && fd[leader] < 0)
		leader++;
	if (leader == COUNTER_METRICS_GROUP ||
	    read(fd[leader], &data, sizeof(data)) <= 0)
		return;
	for (int i = leader; i < COUNTER_METRICS_GROUP && next < data.count; i++) {
		int metric = metrics->group[group][i];

		if (fd[i] < 0)
			continue;
		now->value[metric] = (struct counter_metrics_value){
			data.value[next++], data.enabled, data.running};
		now->rung[metric] = metrics->rung[metric];
	}
}

static void read_proc(struct thread_files *files, int metric,
		      struct counter_metrics_reading *now)
{
	uint64_t count;

	if (table[metric].proc == NULL || !table[metric].proc(files, &count)) {
		now->rung[metric] = COUNTER_METRICS_NONE;
		return;
	}
	now->value[metric] = (struct counter_metrics_value){.count = count};
	now->rung[metric] = COUNTER_METRICS_PROC;
}

bool counter_metrics_read(const struct metrics *metrics,
			  struct counter_metrics_target *target,
			  struct counter_metrics_reading *last)
{
	struct thread_files files = {
		.root = metrics->root, .pid = target->pid, .tid = target->tid};
	struct counter_metrics_reading now = {0};
	bool first = last->rung[0] == COUNTER_METRICS_UNREAD;

	if (target->dead)
		return false;
	for (int group = 0; group < COUNTER_METRICS_GROUPS; group++)
		read_group(metrics, target, group, &now);
	target->dead = !thread_files_alive(&files);
	for (int i = 0; i < COUNTER_METRICS; i++) {
		if (now.rung[i] == COUNTER_METRICS_UNREAD && !target->dead)
			read_proc(&files, i, &now);
		if (now.rung[i] != COUNTER_METRICS_UNREAD) {
			last->value[i] = now.value[i];
			last->rung[i] = now.rung[i];
		}
	}
	if (target->dead)
		counter_metrics_detach(target);
	return !(first && target->dead);
}

void counter_metrics_add(struct counter_metrics_value *sum,
			 const struct counter_metrics_value *from,
			 const struct counter_metrics_value *to)
{
	sum->count += to->count - from->count;
	sum->enabled += to->enabled - from->enabled;
	sum->running += to->running - from->running;
}

double counter_metrics_scaled(const struct counter_metrics_value *sum,
			      enum counter_metrics_metric metric, double *running)
{
	bool hardware = table[metric].type == PERF_TYPE_HARDWARE;

	*running = 1;
	if (sum->enabled == 0)
		return hardware ? NAN : (double)sum->count * table[metric].unit;
	if (sum->running == 0)
		return NAN;
	*running = (double)sum->running / (double)sum->enabled;
	return (double)sum->count / *running * table[metric].unit;
}

const char *counter_metrics_name(enum counter_metrics_metric metric)
{
	return table[metric].name;
}

const char *counter_metrics_rung_name(enum counter_metrics_rung rung)
{
	static const char *const names[] = {
		[COUNTER_METRICS_UNREAD] = "unread",
		[COUNTER_METRICS_LIBPFM4] = "libpfm4",
		[COUNTER_METRICS_GENERIC] = "generic",
		[COUNTER_METRICS_SOFTWARE] = "software",
		[COUNTER_METRICS_PROC] = "proc",
		[COUNTER_METRICS_NONE] = "none",
	};

	return names[rung];
}
