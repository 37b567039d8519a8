/* metric.c - finds the rung of each metric on this machine, and reads a thread's. */
#include "profiler/host/metric.h"
#include "loader/base/host/procfs.h"
#include "profiler/host/counters.h"
#include "profiler/host/thread_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_EVENT UINT32_MAX

struct known {
	const char *name;
	double unit;          /* of one count */
	const char *named[4]; /* what makers of CPUs call it */
	uint32_t type;        /* of the kernel's event, or NO_EVENT */
	uint64_t config;
	bool (*proc)(struct thread_files *files, uint64_t *value);
};

#define HARDWARE(what, event, ...)                                                     \
	{                                                                              \
		what, 1, {__VA_ARGS__}, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event,     \
			NULL                                                           \
	}
#define KERNEL(what, unit, event, proc)                                                \
	{                                                                              \
		what, unit, {NULL}, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##event, proc    \
	}
#define PROC(what, unit, proc)                                                         \
	{                                                                              \
		what, unit, {NULL}, NO_EVENT, 0, proc                                  \
	}

static const struct known table[METRICS] = {
	[METRIC_CYCLES] = HARDWARE("cycles", CPU_CYCLES, "UNHALTED_CORE_CYCLES",
				   "CYCLES_NOT_IN_HALT", "CPU_CYCLES"),
	[METRIC_INSTRUCTIONS] =
		HARDWARE("instructions", INSTRUCTIONS, "INSTRUCTION_RETIRED",
			 "RETIRED_INSTRUCTIONS", "INST_RETIRED"),
	[METRIC_CACHE_MISSES] = HARDWARE("cache_misses", CACHE_MISSES, "LLC_MISSES",
					 "LONGEST_LAT_CACHE:MISS"),
	[METRIC_BRANCH_MISSES] =
		HARDWARE("branch_misses", BRANCH_MISSES, "MISPREDICTED_BRANCH_RETIRED",
			 "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", "BR_MIS_PRED"),
	[METRIC_TASK_CLOCK] =
		KERNEL("task_clock_s", 1e-9, TASK_CLOCK, thread_files_task_clock),
	[METRIC_MINOR_FAULTS] =
		KERNEL("minor_faults", 1, PAGE_FAULTS_MIN, thread_files_minor_faults),
	[METRIC_MAJOR_FAULTS] =
		KERNEL("major_faults", 1, PAGE_FAULTS_MAJ, thread_files_major_faults),
	[METRIC_SWITCHES] =
		KERNEL("context_switches", 1, CONTEXT_SWITCHES, thread_files_switches),
	[METRIC_MIGRATIONS] = KERNEL("migrations", 1, CPU_MIGRATIONS, NULL),
	[METRIC_VOLUNTARY] = PROC("voluntary_switches", 1, thread_files_voluntary),
	[METRIC_QUEUE_WAIT] = PROC("run_queue_wait_s", 1e-9, thread_files_queue_wait),
	[METRIC_READ_BYTES] = PROC("storage_read_bytes", 1, thread_files_read_bytes),
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

typedef __typeof__(pfm_get_os_event_encoding) name_encoder;

/*
 * libpfm4 is loaded where counters are: it has tables of all processors, whose 44,000
 * pointers would be relocated as each command begins. The wheel has its own. NULL: no name
 * is known. It stays loaded.
 */
static name_encoder *name_encoder_find(void)
{
	void *library = dlopen("dsa-libpfm.so.4", RTLD_LAZY | RTLD_LOCAL);
	__typeof__(pfm_initialize) *initialize;
	name_encoder *encode;

	if (library == NULL)
		library = dlopen("libpfm.so.4", RTLD_LAZY | RTLD_LOCAL);
	if (library == NULL)
		return NULL;
	*(void **)&initialize = dlsym(library, "pfm_initialize");
	*(void **)&encode = dlsym(library, "pfm_get_os_event_encoding");
	return initialize != NULL && initialize() == PFM_SUCCESS ? encode : NULL;
}

static bool try_named(struct metrics *metrics, int metric, name_encoder *encoder)
{
	const size_t most = sizeof(table[0].named) / sizeof(table[0].named[0]);

	for (size_t i = 0;
	     encoder != NULL && i < most && table[metric].named[i] != NULL; i++) {
		struct perf_event_attr *attr = &metrics->attr[metric];
		pfm_perf_encode_arg_t encode = {.attr = attr, .size = sizeof(encode)};
		int ignored = 0; /* the generic event's reason is reported */

		memset(attr, 0, sizeof(*attr));
		if (encoder(table[metric].named[i], PFM_PLM3, PFM_OS_PERF_EVENT,
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

static enum rung find_rung(struct metrics *metrics, int metric, name_encoder *encoder)
{
	if (try_named(metrics, metric, encoder))
		return RUNG_LIBPFM4;
	if (try_generic(metrics, metric))
		return table[metric].type == PERF_TYPE_HARDWARE ? RUNG_GENERIC
								: RUNG_SOFTWARE;
	return table[metric].proc != NULL ? RUNG_PROC : RUNG_NONE;
}

/* Fills groups with the events of one kind, from group number `next` on. */
static int make_groups(struct metrics *metrics, bool hardware, int next)
{
	int used = 0;

	for (int i = 0; i < METRICS && next < METRIC_GROUPS; i++) {
		if (metrics->rung[i] > RUNG_SOFTWARE ||
		    (metrics->rung[i] < RUNG_SOFTWARE) != hardware)
			continue;
		metrics->group[next][used++] = i;
		if (used == METRIC_GROUP) {
			used = 0;
			next++;
		}
	}
	return next + (used > 0);
}

void metric_init(struct metrics *metrics, const struct counters_config *config)
{
	name_encoder *encoder = name_encoder_find();

	memset(metrics, 0, sizeof(*metrics));
	metrics->root = config->root != NULL ? config->root : "";
	metrics->open = config->open != NULL ? config->open : perf_open;
	for (int i = 0; i < METRICS; i++)
		metrics->rung[i] = find_rung(metrics, i, encoder);
	memset(metrics->group, -1, sizeof(metrics->group));
	make_groups(metrics, false, make_groups(metrics, true, 0));
}

static bool metric_refused(int code)
{
	return code == EACCES || code == EPERM;
}

__attribute__((format(printf, 3, 4))) static void
metric_explain(struct counters_support *support, const char *fix, const char *why, ...)
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
	bool hardware = metric_refused(metrics->hardware_code);
	int code = hardware ? metrics->hardware_code : metrics->software_code;
	uint64_t paranoid, needed = hardware ? 2 : 1;

	if (procfs_number(&paranoid, metrics->root,
			  "/proc/sys/kernel/perf_event_paranoid") &&
	    paranoid > needed)
		metric_explain(
			support, "sysctl -w kernel.perf_event_paranoid=1",
			"kernel.perf_event_paranoid is %llu; user code needs 2, the "
			"kernel's events 1",
			(unsigned long long)paranoid);
	else
		metric_explain(
			support,
			"docker run --cap-add PERFMON, and a seccomp profile that "
			"allows perf_event_open",
			"perf_event_open is refused: %s", strerrordesc_np(code));
}

void metric_support(const struct metrics *metrics, struct counters_support *support)
{
	enum rung rung = metrics->rung[METRIC_INSTRUCTIONS];

	*support = (struct counters_support){
		.hardware = rung < RUNG_SOFTWARE ? rung_name(rung) : NULL,
		.kernel = rung_name(metrics->rung[METRIC_TASK_CLOCK]),
	};
	if (metric_refused(metrics->hardware_code) ||
	    metric_refused(metrics->software_code))
		explain_refusal(metrics, support);
	else if (metrics->hardware_code == ENOSYS)
		metric_explain(support, "a kernel with CONFIG_PERF_EVENTS",
			       "this kernel has no perf events");
	else if (support->hardware == NULL)
		metric_explain(
			support,
			"the bare machine, or a virtual one whose host passes the PMU "
			"on",
			"the machine shows no hardware counters");
}

void metric_attach(const struct metrics *metrics, struct metric_target *target,
		   uint32_t pid, uint32_t tid)
{
	*target = (struct metric_target){.pid = pid, .tid = tid};
	memset(target->fd, -1, sizeof(target->fd));
	for (int group = 0; group < METRIC_GROUPS && tid != 0; group++) {
		int leader = -1;

		for (int i = 0; i < METRIC_GROUP; i++) {
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

void metric_detach(struct metric_target *target)
{
	for (int group = 0; group < METRIC_GROUPS; group++)
		for (int i = METRIC_GROUP - 1; i >= 0; i--) {
			if (target->fd[group][i] >= 0)
				close(target->fd[group][i]);
			target->fd[group][i] = -1;
		}
	target->dead = true;
}

/* One read brings the whole group, in the order in which its events were opened. */
static void read_group(const struct metrics *metrics,
		       const struct metric_target *target, int group,
		       struct metric_reading *now)
{
	struct {
		uint64_t count, enabled, running, value[METRIC_GROUP];
	} data;
	const int *fd = target->fd[group];
	uint64_t next = 0;
	int leader = 0;

	while (leader < METRIC_GROUP && fd[leader] < 0)
		leader++;
	if (leader == METRIC_GROUP || read(fd[leader], &data, sizeof(data)) <= 0)
		return;
	for (int i = leader; i < METRIC_GROUP && next < data.count; i++) {
		int metric = metrics->group[group][i];

		if (fd[i] < 0)
			continue;
		now->value[metric] = (struct metric_value){data.value[next++],
							   data.enabled, data.running};
		now->rung[metric] = metrics->rung[metric];
	}
}

static void read_proc(struct thread_files *files, int metric,
		      struct metric_reading *now)
{
	uint64_t count;

	if (table[metric].proc == NULL || !table[metric].proc(files, &count)) {
		now->rung[metric] = RUNG_NONE;
		return;
	}
	now->value[metric] = (struct metric_value){.count = count};
	now->rung[metric] = RUNG_PROC;
}

bool metric_read(const struct metrics *metrics, struct metric_target *target,
		 struct metric_reading *last)
{
	struct thread_files files = {
		.root = metrics->root, .pid = target->pid, .tid = target->tid};
	struct metric_reading now = {0};
	bool first = last->rung[0] == RUNG_UNREAD;

	if (target->dead)
		return false;
	for (int group = 0; group < METRIC_GROUPS; group++)
		read_group(metrics, target, group, &now);
	target->dead = !thread_files_alive(&files);
	for (int i = 0; i < METRICS; i++) {
		if (now.rung[i] == RUNG_UNREAD && !target->dead)
			read_proc(&files, i, &now);
		if (now.rung[i] != RUNG_UNREAD) {
			last->value[i] = now.value[i];
			last->rung[i] = now.rung[i];
		}
	}
	if (target->dead)
		metric_detach(target);
	return !(first && target->dead);
}

void metric_add(struct metric_value *sum, const struct metric_value *from,
		const struct metric_value *to)
{
	sum->count += to->count - from->count;
	sum->enabled += to->enabled - from->enabled;
	sum->running += to->running - from->running;
}

double metric_scaled(const struct metric_value *sum, enum metric metric,
		     double *running)
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

const char *metric_name(enum metric metric)
{
	return table[metric].name;
}

const char *rung_name(enum rung rung)
{
	static const char *const names[] = {
		[RUNG_UNREAD] = "unread",   [RUNG_LIBPFM4] = "libpfm4",
		[RUNG_GENERIC] = "generic", [RUNG_SOFTWARE] = "software",
		[RUNG_PROC] = "proc",       [RUNG_NONE] = "none",
	};

	return names[rung];
}
