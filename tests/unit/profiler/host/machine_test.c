#include "loader/base/host/procfs.h"
#include "profiler/host/machine.h"
#include "profiler/profile.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB ((uint64_t)1 << 30)

/* Into the tree that stands in front of /proc and /sys. */
static void put(const char *path, const char *text)
{
	tree_put(scratch_path(), path, text);
}

static struct machine read_machine(void)
{
	struct machine machine;

	machine_read(&machine, scratch_path());
	return machine;
}

static const char *fact(const struct profile *profile, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < profile->fact_count; i++)
		if (strcmp(profile->environment[i].key, key) == 0) {
			assert_null(value); /* keys are unique */
			value = profile->environment[i].value;
		}
	return value;
}

static void put_cpus(const char *online, const char *allowed)
{
	char text[256];

	put("/sys/devices/system/cpu/online", online);
	snprintf(text, sizeof(text),
		 "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t%s", allowed);
	put("/proc/self/status", text);
	put("/proc/meminfo", "MemTotal:       16777216 kB\n"
			     "MemFree:         1048576 kB\n"
			     "MemAvailable:    8388608 kB\n");
}

static void put_v2(const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "0::%s\n", path);
	put("/proc/self/cgroup", text);
	put("/proc/self/mountinfo",
	    "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	    "30 20 0:28 / /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
}

TEST_WITH(affinity_without_groups_is_what_can_be_used, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put_cpus("0-7\n", "0-1,4,6-7\n");
	machine = read_machine();
	assert_int_equal(machine.threads, 8);
	assert_int_equal(machine.allowed, 5);
	assert_true(isnan(machine.quota));
	assert_true(machine.cores == 5);
	assert_int_equal(machine.cgroup_version, 0);
	assert_true(machine.memory_bytes == 16 * GIB);
	assert_true(machine.memory_available_bytes == 8 * GIB);
	assert_true(machine.memory_limit_bytes == UNKNOWN);
}

TEST_WITH(version_2_takes_the_tightest_of_all_levels, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put_cpus("0-7\n", "0-7\n");
	put_v2("/pod/app");
	put("/cg/pod/app/cpu.max", "350000 100000\n");
	put("/cg/pod/cpu.max", "250000 100000\n"); /* the parent holds too */
	put("/cg/pod/app/memory.max", "max\n");
	put("/cg/pod/memory.max", "4294967296\n");
	put("/cg/pod/memory.current", "3221225472\n");
	put("/cg/pod/memory.stat",
	    "anon 10\nactive_file 7\ninactive_file 1073741824\n");
	machine = read_machine();
	assert_int_equal(machine.cgroup_version, 2);
	assert_true(machine.quota == 2.5);
	assert_true(machine.cores == 2.5);
	assert_true(machine.memory_limit_bytes == 4 * GIB);
	assert_true(machine.memory_available_bytes == 2 * GIB);
}

TEST_WITH(version_2_without_limits_has_none, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put_cpus("0-3\n", "0-3\n");
	put_v2("/app");
	put("/cg/app/cpu.max", "max 100000\n");
	put("/cg/app/memory.max", "max\n");
	machine = read_machine();
	assert_int_equal(machine.cgroup_version, 2);
	assert_true(isnan(machine.quota));
	assert_true(machine.cores == 4);
	assert_true(machine.memory_limit_bytes == UNKNOWN);
	assert_true(machine.memory_available_bytes == 8 * GIB);
}

TEST_WITH(version_1_in_a_container_sees_its_part, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put_cpus("0-3\n", "0-3\n");
	put("/proc/self/cgroup", "5:memory:/docker/abc\n"
				 "4:cpu,cpuacct:/docker/abc/sub\n"
				 "1:name=systemd:/docker/abc\n"
				 "0::/docker/abc\n");
	put("/proc/self/mountinfo",
	    "30 20 0:28 /docker/abc /cg/unified rw - cgroup2 cgroup2 rw\n"
	    "31 20 0:29 /docker/abc /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	    "32 20 0:30 /docker/abc /cg/mem\\040ory rw - cgroup cgroup rw,memory\n");
	put("/cg/cpu/sub/cpu.cfs_quota_us", "-1\n");
	put("/cg/cpu/sub/cpu.cfs_period_us", "100000\n");
	put("/cg/cpu/cpu.cfs_quota_us", "50000\n");
	put("/cg/cpu/cpu.cfs_period_us", "100000\n");
	put("/cg/mem ory/memory.limit_in_bytes", "2147483648\n");
	put("/cg/mem ory/memory.usage_in_bytes", "1610612736\n");
	put("/cg/mem ory/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 536870912\n");
	machine = read_machine();
	assert_int_equal(machine.cgroup_version, 1);
	assert_true(machine.quota == 0.5);
	assert_true(machine.cores == 0.5);
	assert_true(machine.memory_limit_bytes == 2 * GIB);
	assert_true(machine.memory_available_bytes == 1 * GIB);
}

TEST_WITH(version_1_without_limits_has_none, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put_cpus("0-3\n", "0-3\n");
	put("/proc/self/cgroup", "5:memory:/\n4:cpu:/\n");
	put("/proc/self/mountinfo",
	    "31 20 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
	    "32 20 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n");
	put("/cg/cpu/cpu.cfs_quota_us", "-1\n");
	put("/cg/cpu/cpu.cfs_period_us", "100000\n");
	put("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/cg/memory/memory.usage_in_bytes", "1\n");
	machine = read_machine();
	assert_true(isnan(machine.quota));
	assert_true(machine.cores == 4);
	assert_true(machine.memory_limit_bytes == UNKNOWN);
}

TEST_WITH(a_quota_above_the_affinity_limits_nothing, scratch_setup, scratch_teardown)
{
	put_cpus("0-7\n", "3\n");
	put_v2("/");
	put("/cg/cpu.max", "400000 100000\n");
	assert_true(read_machine().quota == 4);
	assert_true(read_machine().cores == 1);
}

TEST_WITH(garbage_is_unknown, scratch_setup, scratch_teardown)
{
	struct machine machine;

	put("/sys/devices/system/cpu/online", "7-3\n");
	put("/proc/self/status", "Cpus_allowed_list:\t\n");
	put("/proc/meminfo", "MemTotal: lots\nMemAvailable:");
	put("/proc/self/cgroup", "0::/a\nnonsense\n::\n");
	put("/proc/self/mountinfo",
	    "\n30 20 0:28 / /cg\n30 20 x / /cg rw - cgroup2 a b\n"
	    "31 20 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
	put("/cg/a/cpu.max", "100 0\n");
	put("/cg/cpu.max", "lots\n");
	machine = read_machine();
	assert_true(machine.threads == UNKNOWN);
	assert_true(machine.allowed == UNKNOWN);
	assert_true(isnan(machine.quota));
	assert_true(machine.memory_bytes == UNKNOWN);
	assert_true(machine.memory_available_bytes == UNKNOWN);
	assert_true(machine.cores == (double)sysconf(_SC_NPROCESSORS_ONLN));
}

TEST_WITH(the_topology_comes_from_hwloc, scratch_setup, scratch_teardown)
{
	struct machine machine;

	setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 l3:2(size=33554432) l2:2 core:1 pu:2",
	       1);
	machine = read_machine();
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(machine.sockets, 2);
	assert_int_equal(machine.physical_cores, 8);
	assert_int_equal(machine.numa_nodes, 2);
	assert_true(machine.llc_bytes == 4 * (uint64_t)33554432);
}

/* Read before tests change the folder. */
static char manual[1 << 16];

static int read_manual(void **state)
{
	(void)state;
	return procfs_read(manual, sizeof(manual), "", "man/dsa-result.5") > 0 ? 0 : -1;
}

/* The manual has "environment.KEY" as a word. */
static void assert_told(const char *key)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), "environment.%s", key);
	at = strstr(manual, word);
	while (at != NULL && strchr(" \n", at[strlen(word)]) == NULL)
		at = strstr(at + 1, word);
	if (at == NULL)
		fail_msg("man/dsa-result.5 does not describe %s", word);
}

TEST_WITH(facts_are_there_or_absent, scratch_setup, scratch_teardown)
{
	struct machine machine;
	struct profile profile;

	put_cpus("0-3\n", "0-3\n");
	put_v2("/");
	put("/cg/cpu.max", "150000 100000\n");
	put("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 2\nmodel name\t: Fast CPU 9\n"
			     "flags\t\t: fpu hypervisor sse\nbugs\t\t:\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	    "kvm-clock\n");
	put("/sys/devices/system/cpu/smt/control", "on\n");
	put("/cg/memory.max", "1073741824\n");
	put("/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
	    "Release "
	    "Build  (builder)\nGCC version:  gcc 12.2.0\n");
	put("/proc/driver/nvidia/gpus/0000:01:00.0/information",
	    "Model: \t\t Fast GPU 9\nIRQ:   \t\t 1\n");
	machine = read_machine();
	profile_init(&profile);
	assert_int_equal(machine_facts(&profile, &machine, NULL, scratch_path()), 0);
	assert_string_equal(fact(&profile, "cpu"), "Fast CPU 9");
	assert_string_equal(fact(&profile, "virtual_machine"), "yes");
	assert_string_equal(fact(&profile, "cpu_threads"), "4");
	assert_string_equal(fact(&profile, "cpu_quota"), "1.5");
	assert_string_equal(fact(&profile, "cpu_usable"), "1.5");
	assert_string_equal(fact(&profile, "memory"), "16 GiB");
	assert_string_equal(fact(&profile, "clock_source"), "kvm-clock");
	assert_string_equal(fact(&profile, "control_groups"), "version 2");
	assert_string_equal(fact(&profile, "memory_limit"), "1 GiB");
	assert_string_equal(fact(&profile, "cpu_smt"), "on");
	assert_string_equal(fact(&profile, "gpu"), "Fast GPU 9");
	assert_string_equal(fact(&profile, "gpu_count"), "1");
	assert_string_equal(fact(&profile, "gpu_driver"), "580.65.06");
	assert_null(fact(&profile, "cpu_governor"));
	assert_null(fact(&profile, "system"));
	assert_null(fact(&profile, "dataset_filesystem"));
	for (size_t i = 0; i < profile.fact_count; i++)
		assert_told(profile.environment[i].key);
	profile_free(&profile);
}

/* What the fact `cpu` is with such a /proc/cpuinfo. */
static const char *cpu_of(struct profile *profile, const char *cpuinfo)
{
	struct machine machine = {.cores = 1};

	profile_free(profile);
	put("/proc/cpuinfo", cpuinfo);
	assert_int_equal(machine_facts(profile, &machine, NULL, scratch_path()), 0);
	return fact(profile, "cpu");
}

TEST_WITH(a_cpu_without_a_model_name_has_its_numbers, scratch_setup, scratch_teardown)
{
	struct profile profile;

	profile_init(&profile);
	assert_string_equal(cpu_of(&profile,
				   "processor\t: 0\nBogoMIPS\t: 243.75\n"
				   "CPU implementer\t: 0x41\nCPU architecture: 8\n"
				   "CPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
				   "CPU revision\t: 1\n\nprocessor\t: 1\n"
				   "CPU implementer\t: 0x43\n"),
			    "implementer 0x41 part 0xd0c variant 0x3 revision 1");
	assert_string_equal(
		cpu_of(&profile, "processor\t: 0\ncpu\t\t: POWER9, altivec\n"),
		"POWER9, altivec");
	assert_null(cpu_of(&profile, "processor\t: 0\ncpu family\t: 6\n"
				     "model name\t:\n"));
	put("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
	    "0x00000000413fd0c1\n");
	assert_string_equal(cpu_of(&profile, "processor\t: 0\n"), "0x00000000413fd0c1");
	profile_free(&profile);
}

/* The storage of the test's own folder, @, as this mountinfo tells it. */
static const char *storage(struct profile *profile, const char *mounts)
{
	struct machine machine = {.cores = 1};
	const char *at = strchr(mounts, '@');
	char text[1024];

	profile_free(profile);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - mounts), mounts,
		 scratch_path(), at + 1);
	put("/proc/self/mountinfo", text);
	assert_int_equal(
		machine_facts(profile, &machine, scratch_path(), scratch_path()), 0);
	return fact(profile, "dataset_storage");
}

TEST_WITH(the_data_sets_storage_is_named, scratch_setup, scratch_teardown)
{
	struct profile profile;

	profile_init(&profile);
	put("/sys/dev/block/8:1/../queue/rotational", "1\n");
	put("/sys/dev/block/8:1/size", "1\n");
	put("/sys/dev/block/8:16/queue/rotational", "0\n");
	assert_string_equal(storage(&profile, "1 0 8:16 / / rw - ext4 /dev/sdb rw\n"
					      "2 1 0:5 / @x rw - tmpfs none rw\n"),
			    "solid state disk");
	assert_string_equal(fact(&profile, "dataset_filesystem"), "ext4");
	assert_string_equal(fact(&profile, "dataset_device"), "/dev/sdb");
	put("/sys/dev/block/queue/rotational", "1\n");
	assert_string_equal(storage(&profile, "2 1 8:1 / @ rw - xfs /dev/sda1 rw\n"
					      "1 0 8:16 / / rw - ext4 /dev/sdb rw\n"),
			    "rotating disk");
	assert_string_equal(storage(&profile, "1 0 8:16 / / rw - ext4 /dev/sdb rw\n"
					      "2 1 0:5 / @ rw - tmpfs none rw\n"),
			    "memory");
	assert_string_equal(storage(&profile, "2 1 0:5 / @ rw - nfs4 host:/x rw\n"),
			    "network");
	assert_string_equal(
		storage(&profile, "2 1 259:1 / @ rw - ext4 /dev/nvme0n1p1 rw\n"),
		"NVMe");
	assert_string_equal(storage(&profile, "2 1 254:0 / @ rw - ext4 /dev/vda rw\n"),
			    "virtual disk");
	assert_null(storage(&profile, "2 1 0:9 / @ rw - overlay overlay rw\n"));
	assert_string_equal(fact(&profile, "dataset_filesystem"), "overlay");
	profile_free(&profile);
}

TEST(the_real_machine_has_its_facts)
{
	struct machine machine;
	struct profile profile;

	machine_read(&machine, "");
	assert_true(machine.cores > 0);
	assert_true(machine.memory_available_bytes <= machine.memory_bytes);
	profile_init(&profile);
	assert_int_equal(machine_facts(&profile, &machine, "/", ""), 0);
	assert_non_null(fact(&profile, "kernel"));
	assert_non_null(fact(&profile, "dataset_filesystem"));
	for (size_t i = 0; i < profile.fact_count; i++)
		assert_told(profile.environment[i].key);
	profile_free(&profile);
}

TEST(a_mount_line_that_is_cut_short_is_refused)
{
	const char whole[] = "36 35 98:0 /a\\040b /m\\134 rw shared:1 master:2 - ext3 "
			     "/dev/r rw,errors=continue";
	struct procfs_mount mount;
	char line[sizeof(whole)];

	strcpy(line, whole);
	assert_true(procfs_mount_parse(line, &mount));
	assert_string_equal(mount.root, "/a b");
	assert_string_equal(mount.point, "/m\\");
	assert_string_equal(mount.device, "/dev/r");
	assert_true(procfs_word(mount.options, "rw"));
	assert_false(procfs_word(mount.options, "errors"));
	for (size_t length = 0;
	     length < strlen("36 35 98:0 /a\\040b /m\\134 rw shared:1 "
			     "master:2 - ext3 /dev/r");
	     length++) {
		snprintf(line, length + 1, "%s", whole);
		assert_false(procfs_mount_parse(line, &mount));
	}
}

TEST_GROUP(read_manual, NULL);
