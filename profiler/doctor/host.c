/* host.c - the checks of this machine. */
#include "loader/base/clock.h"
#include "loader/base/host/procfs.h"
#include "loader/base/io.h"
#include "loader/base/ipc/shared_memory.h"
#include "profiler/doctor/check.h"
#include "profiler/host/children.h"
#include "profiler/host/counters.h"
#include "profiler/host/host_load.h"
#include "profiler/host/machine.h"
#include "profiler/profile.h"
#include "profiler/program_file.h"

#include <errno.h>
#include <liburing.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

#define LOOK_NS UINT64_C(100000000) /* how long other programs are looked at */
#define BUSY    .1 /* of the CPU: more disturbs a run that needs all of it */

void check_kernel(struct doctor_line *line)
{
	struct utsname name;

	uname(&name);
	check_report(line, DOCTOR_OK, NULL, "%.32s %.64s on %.32s", name.sysname,
		     name.release, name.machine);
}

void check_clock(struct doctor_line *line)
{
	char source[64];

	procfs_line(source, sizeof(source), "",
		    "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0)
		check_report(line, DOCTOR_LIMITED,
			     "boot with clocksource=tsc if the processor's is stable",
			     "%s: reading it is slow, the overhead grows", source);
	else
		check_report(line, DOCTOR_OK, NULL, "%s",
			     source[0] != '\0' ? source : "CLOCK_MONOTONIC");
}

void check_memory_file(struct doctor_line *line)
{
	const struct shared_memory_config config = {
		.name = "dsa-doctor", .bytes = MIB, .huge_from = MIB};
	struct shared_memory memory;
	int result = shared_memory_make(&memory, &config);

	if (result < 0) {
		check_report(line, DOCTOR_BROKEN,
			     "allow memfd_create in the container's seccomp profile",
			     "batches need memfd_create: %s", strerror(-result));
		return;
	}
	shared_memory_free(&memory);
	check_report(line, DOCTOR_OK, NULL, "memfd_create and shared mappings work");
}

/* True when the kernel turns an aligned piece of a memory file into a huge page. */
static bool host_collapses(void)
{
	const struct shared_memory_config config = {.name = "dsa-doctor",
						    .bytes = SHARED_HUGE_PAGE};
	struct shared_memory memory;
	bool huge = shared_memory_make(&memory, &config) == 0 && memory.huge;

	shared_memory_free(&memory);
	return huge;
}

/* True when a memory file can have one of the huge pages that are set aside. */
static bool host_has_reserved(void)
{
	int fd = memfd_create("dsa-doctor", MFD_CLOEXEC | MFD_HUGETLB);
	void *at = MAP_FAILED;

	if (fd >= 0 && io_truncate(fd, SHARED_HUGE_PAGE) == 0)
		at = mmap(NULL, SHARED_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd, 0);
	if (fd >= 0)
		close(fd);
	return at != MAP_FAILED && munmap(at, SHARED_HUGE_PAGE) == 0;
}

void check_huge_pages(struct doctor_line *line)
{
	char enabled[96];

	procfs_line(enabled, sizeof(enabled), "",
		    "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	if (host_has_reserved())
		check_report(line, DOCTOR_OK, NULL, "reserved huge pages can be had");
	else if (strstr(enabled, "[always]") != NULL ||
		 strstr(enabled, "[advise]") != NULL || host_collapses())
		check_report(line, DOCTOR_OK, NULL,
			     "transparent huge pages for shared memory");
	else
		check_report(line, DOCTOR_LIMITED,
			     "echo advise >/sys/kernel/mm/transparent_hugepage/"
			     "shmem_enabled, or reserve: sysctl vm.nr_hugepages=64",
			     "none for shared memory: a little slower");
}

void check_locked_memory(struct doctor_line *line)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		check_report(line, DOCTOR_OK, NULL, "no limit");
	else
		check_report(
			line, limit.rlim_cur >= 8 * MIB ? DOCTOR_OK : DOCTOR_LIMITED,
			"ulimit -l 65536, or docker run --ulimit memlock=-1",
			"limit of %llu KiB", (unsigned long long)limit.rlim_cur / 1024);
}

void check_shared_memory(struct doctor_line *line)
{
	struct statvfs shm;
	unsigned long long size;

	if (statvfs("/dev/shm", &shm) < 0) {
		check_report(line, DOCTOR_LIMITED, "mount -t tmpfs tmpfs /dev/shm",
			     "no /dev/shm; dsa does without, other loaders do not");
		return;
	}
	size = (unsigned long long)shm.f_blocks * shm.f_frsize / MIB;
	check_report(line, size < 256 ? DOCTOR_LIMITED : DOCTOR_OK,
		     "docker run --shm-size=8g", "/dev/shm has %llu MiB%s", size,
		     size < 256 ? "; dsa does without, other loaders do not" : "");
}

static const char *why_no_ring(int code)
{
	char disabled[16];

	if (code == ENOSYS)
		return "a kernel of 5.6 or later, or a container that allows io_uring";
	if (code == ENOMEM)
		return "raise the limit of locked memory: ulimit -l 65536";
	procfs_line(disabled, sizeof(disabled), "",
		    "/proc/sys/kernel/io_uring_disabled");
	if (disabled[0] == '1' || disabled[0] == '2')
		return "sysctl kernel.io_uring_disabled=0";
	return "allow io_uring_setup in the container's seccomp profile";
}

void check_io_uring(struct doctor_line *line)
{
	struct io_uring ring;
	int code = io_uring_queue_init(8, &ring, 0);

	if (code < 0) {
		check_report(line, DOCTOR_LIMITED, why_no_ring(-code),
			     "refused: %s; pread threads are used", strerror(-code));
		return;
	}
	io_uring_queue_exit(&ring);
	check_report(line, DOCTOR_OK, NULL, "works");
}

void check_counters(struct doctor_line *line)
{
	struct counters *counters = counters_open(NULL, NULL);
	struct counters_support support;

	if (counters == NULL) {
		check_report(line, DOCTOR_LIMITED, "free some memory",
			     "memory is short");
		return;
	}
	counters_support(counters, &support);
	counters_close(counters);
	if (support.why[0] == '\0')
		check_report(line, DOCTOR_OK, NULL,
			     "hardware events can be counted (%s)", support.hardware);
	else
		check_report(line, DOCTOR_LIMITED, support.fix,
			     "%s; hardware: %s, kernel: %s", support.why,
			     support.hardware != NULL ? support.hardware : "none",
			     support.kernel);
}

void check_cores(struct doctor_line *line)
{
	struct machine machine;

	machine_read(&machine, "");
	if (isfinite(machine.quota) && machine.quota < (double)machine.allowed)
		check_report(line, DOCTOR_LIMITED,
			     "raise the control group's quota: docker run --cpus=N",
			     "a quota of %.2f cores on %llu hardware threads",
			     machine.quota, (unsigned long long)machine.allowed);
	else if (machine.allowed < machine.threads)
		check_report(line, DOCTOR_LIMITED,
			     "widen the affinity: taskset, docker run --cpuset-cpus",
			     "%llu of %llu hardware threads may be used",
			     (unsigned long long)machine.allowed,
			     (unsigned long long)machine.threads);
	else
		check_report(line, DOCTOR_OK, NULL, "%llu hardware threads, no quota",
			     (unsigned long long)machine.allowed);
}

void check_memory(struct doctor_line *line)
{
	struct machine machine;
	unsigned long long free_mib;

	machine_read(&machine, "");
	if (machine.memory_available_bytes == UNKNOWN) {
		check_report(line, DOCTOR_LIMITED, "mount /proc",
			     "how much is free is unknown");
		return;
	}
	free_mib = machine.memory_available_bytes / MIB;
	check_report(line, free_mib >= 1024 ? DOCTOR_OK : DOCTOR_LIMITED,
		     "free some, or raise the control group's limit", "%llu MiB free%s",
		     free_mib,
		     machine.memory_limit_bytes == UNKNOWN
			     ? ""
			     : " under the control group's limit");
}

/* CPU time that others take now, a share of what this process may use; NAN: unknown. */
static double others_share(double *load_average)
{
	struct host_load_config config;
	struct children others;
	struct host_load from, to;
	struct trace_load load;

	children_note(&others, NULL);
	host_load_init(&config, "", 0);
	config.others = &others;
	host_load_read(&config, &from);
	clock_sleep_until(clock_now() + LOOK_NS);
	host_load_read(&config, &to);
	host_load_between(&config, &from, &to, &load);
	*load_average = load.load;
	if (load.others_ns == UINT64_MAX || load.steal_ns == UINT64_MAX)
		return NAN;
	return (double)(load.others_ns + load.steal_ns) / (double)load.cpu_ns;
}

void check_others(struct doctor_line *line)
{
	double load, share = others_share(&load);

	if (isnan(share))
		check_report(line, DOCTOR_LIMITED,
			     "mount /proc; a kernel with CONFIG_PROC_CHILDREN",
			     "what they do is not known: no window can be called "
			     "disturbed");
	else
		check_report(line, share < BUSY ? DOCTOR_OK : DOCTOR_LIMITED,
			     "quieten the machine, or intervals will be wide",
			     "they use %.0f%% of the CPU now (load %.1f)", 100 * share,
			     load);
}

void check_accounting(struct doctor_line *line)
{
	if (access("/proc/self/io", R_OK) == 0)
		check_report(line, DOCTOR_OK, NULL,
			     "/proc/self/io counts device reads");
	else
		check_report(line, DOCTOR_BROKEN,
			     "mount /proc; a kernel with CONFIG_TASK_IO_ACCOUNTING",
			     "no /proc/self/io: no measurement can be verified");
}

void check_gnuplot(struct doctor_line *line)
{
	char path[4096];

	if (program_file_find("gnuplot", path, sizeof(path)))
		check_report(line, DOCTOR_OK, NULL, "%.160s", path);
	else
		check_report(line, DOCTOR_LIMITED, "apt-get install gnuplot-nox",
			     "not found: the report draws simpler plots itself");
}
