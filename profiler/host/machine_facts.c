/* machine_facts.c - describes CPU, memory, system and storage in words. */
#include "loader/base/clock.h"
#include "loader/base/host/procfs.h"
#include "profiler/host/dataset_device.h"
#include "profiler/host/gpu_facts.h"
#include "profiler/host/machine.h"
#include "profiler/profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { CPUINFO_VALUE = 256 };

/* The facts being added; after the first failure nothing more is added. */
struct facts {
	struct profile *profile;
	const char *root;
	int result;
};

__attribute__((format(printf, 3, 4))) static void
facts_add(struct facts *facts, const char *key, const char *format, ...)
{
	char value[512];
	va_list args;

	if (facts->result < 0)
		return;
	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	facts->result = profile_set_fact(facts->profile, key, value);
}

static void facts_add_count(struct facts *facts, const char *key, uint64_t count)
{
	if (count != UNKNOWN)
		facts_add(facts, key, "%llu", (unsigned long long)count);
}

static void add_bytes(struct facts *facts, const char *key, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes == UNKNOWN)
		return;
	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		value /= 1024;
	facts_add(facts, key, "%.4g %s", value, units[unit]);
}

/* A file's first line as it is, when there is one. */
static void facts_add_line(struct facts *facts, const char *key, const char *path)
{
	char text[256];

	if (procfs_line(text, sizeof(text), facts->root, path) > 0)
		facts_add(facts, key, "%s", text);
}

/* "key : value" in /proc/cpuinfo: copies the value of the first CPU. */
static bool cpuinfo_value(const char *text, const char *key, char value[CPUINFO_VALUE])
{
	size_t length = strlen(key);
	const char *line = text;

	while (strncmp(line, key, length) != 0 ||
	       line[length + strspn(line + length, " \t")] != ':') {
		line = strchr(line, '\n');
		if (line == NULL)
			return false;
		line++;
	}
	line += length + strspn(line + length, " \t") + 1;
	line += strspn(line, " \t");
	snprintf(value, CPUINFO_VALUE, "%.*s", (int)strcspn(line, "\n"), line);
	return value[0] != '\0';
}

/* arm64 names no model, but what its main ID register says. */
static void facts_add_arm_cpu(struct facts *facts, const char *text)
{
	char implementer[CPUINFO_VALUE], part[CPUINFO_VALUE], variant[CPUINFO_VALUE],
		revision[CPUINFO_VALUE];

	if (cpuinfo_value(text, "CPU implementer", implementer) &&
	    cpuinfo_value(text, "CPU part", part) &&
	    cpuinfo_value(text, "CPU variant", variant) &&
	    cpuinfo_value(text, "CPU revision", revision))
		facts_add(facts, "cpu", "implementer %s part %s variant %s revision %s",
			  implementer, part, variant, revision);
	else
		facts_add_line(
			facts, "cpu",
			"/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
}

static void add_cpu_model(struct facts *facts)
{
	char text[8192] = "", value[CPUINFO_VALUE];
	const char *flags;

	procfs_read(text, sizeof(text), facts->root, "/proc/cpuinfo");
	flags = strstr(text, "\nflags\t");
	if (flags != NULL) /* only x86 has such a list; elsewhere it stays unknown */
		facts_add(facts, "virtual_machine", "%s",
			  strstr(flags, " hypervisor") != NULL ? "yes" : "no");
	/* "cpu" of POWER, "uarch" of RISC-V */
	if (cpuinfo_value(text, "model name", value) ||
	    cpuinfo_value(text, "cpu", value) || cpuinfo_value(text, "uarch", value))
		facts_add(facts, "cpu", "%s", value);
	else
		facts_add_arm_cpu(facts, text);
}

static void facts_add_cpu(struct facts *facts, const struct machine *machine)
{
	add_cpu_model(facts);
	facts_add_count(facts, "cpu_sockets", machine->sockets);
	facts_add_count(facts, "cpu_cores", machine->physical_cores);
	facts_add_count(facts, "cpu_threads", machine->threads);
	facts_add_count(facts, "cpu_threads_allowed", machine->allowed);
	if (!isnan(machine->quota))
		facts_add(facts, "cpu_quota", "%.4g", machine->quota);
	facts_add(facts, "cpu_usable", "%.4g", machine->cores);
	facts_add_line(facts, "cpu_smt", "/sys/devices/system/cpu/smt/control");
	facts_add_line(facts, "cpu_governor",
		       "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	add_bytes(facts, "cpu_last_level_cache", machine->llc_bytes);
}

static void add_memory(struct facts *facts, const struct machine *machine)
{
	add_bytes(facts, "memory", machine->memory_bytes);
	add_bytes(facts, "memory_limit", machine->memory_limit_bytes);
	add_bytes(facts, "memory_available", machine->memory_available_bytes);
	facts_add_count(facts, "memory_nodes", machine->numa_nodes);
}

static void facts_add_gpus(struct facts *facts)
{
	struct gpu_facts gpus;

	gpu_facts_read(&gpus, facts->root);
	if (gpus.models[0] != '\0')
		facts_add(facts, "gpu", "%s", gpus.models);
	if (gpus.count > 0)
		facts_add_count(facts, "gpu_count", gpus.count);
	if (gpus.driver[0] != '\0')
		facts_add(facts, "gpu_driver", "%s", gpus.driver);
}

static void add_system(struct facts *facts, const struct machine *machine)
{
	char release[4096], when[CLOCK_UTC], *name;
	struct utsname system;

	if (uname(&system) == 0)
		facts_add(facts, "kernel", "%s %s %s", system.sysname, system.release,
			  system.machine);
	if (procfs_read(release, sizeof(release), facts->root, "/etc/os-release") > 0 &&
	    (name = strstr(release, "PRETTY_NAME=\"")) != NULL) {
		name += strlen("PRETTY_NAME=\"");
		name[strcspn(name, "\"\n")] = '\0';
		facts_add(facts, "system", "%s", name);
	}
	facts_add_line(
		facts, "clock_source",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (machine->cgroup_version > 0)
		facts_add(facts, "control_groups", "version %u",
			  machine->cgroup_version);
	clock_utc(when);
	facts_add(facts, "time", "%s", when);
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strncmp(text, *words, strlen(*words)) == 0)
			return true;
	return false;
}

/* The kind of storage; NULL when it is unknown. */
static const char *storage_kind(const struct procfs_mount *mount, const char *root)
{
	static const char *const network[] = {"nfs",    "cifs",    "smb",        "ceph",
					      "lustre", "gpfs",    "9p",         "afs",
					      "beegfs", "fuse.s3", "fuse.sshfs", NULL};
	static const char *const unreal[] = {"/dev/vd",   "/dev/xvd", "/dev/nbd",
					     "/dev/loop", "/dev/dm-", NULL};
	struct device_number device;
	uint64_t rotates;

	if (strcmp(mount->type, "tmpfs") == 0 || strcmp(mount->type, "ramfs") == 0)
		return "memory";
	if (one_of(mount->type, network))
		return "network";
	if (strncmp(mount->device, "/dev/nvme", 9) == 0)
		return "NVMe";
	if (one_of(mount->device, unreal)) /* their `rotational` is meaningless */
		return "virtual disk";
	device = dataset_device_of(mount);
	/* A partition has no queue; the disk it lies on does. */
	if (!procfs_number(&rotates, root, "/sys/dev/block/%u:%u/queue/rotational",
			   device.major, device.minor) &&
	    !procfs_number(&rotates, root, "/sys/dev/block/%u:%u/../queue/rotational",
			   device.major, device.minor))
		return NULL;
	return rotates != 0 ? "rotating disk" : "solid state disk";
}

static void facts_add_storage(struct facts *facts, const char *dataset)
{
	struct procfs_mount mount;
	const char *kind;

	if (!dataset_device_mount(facts->root, dataset, &mount))
		return;
	facts_add(facts, "dataset_filesystem", "%s", mount.type);
	facts_add(facts, "dataset_device", "%s", mount.device);
	kind = storage_kind(&mount, facts->root);
	if (kind != NULL)
		facts_add(facts, "dataset_storage", "%s", kind);
	free(mount.line);
}

int machine_facts(struct profile *profile, const struct machine *machine,
		  const char *dataset, const char *root)
{
	struct facts facts = {profile, root, 0};

	facts_add_cpu(&facts, machine);
	add_memory(&facts, machine);
	facts_add_gpus(&facts);
	add_system(&facts, machine);
	facts_add_storage(&facts, dataset);
	return facts.result;
}
