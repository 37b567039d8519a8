#include "loader/base/clock.h"
#include "profiler/host/children.h"
#include "profiler/host/host_load.h"
#include "profiler/host/process_tree.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define S 1000000000u

/* Into the tree that stands in front of /proc and /sys. */
static void put(const char *path, const char *text)
{
	tree_put(scratch_path(), path, text);
}

/* Process `pid` with one thread; times in clock ticks of 10 ms. */
static void put_process(unsigned pid, unsigned ticks, unsigned reaped, unsigned read,
			const char *children)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	snprintf(text, sizeof(text),
		 "%u (a (b) c) S 1 1 1 0 -1 4194560 5 0 6 0 %u %u %u %u 20 0 1 0 99 0 "
		 "0\n",
		 pid, ticks, ticks, reaped, reaped);
	put(path, text);
	snprintf(path, sizeof(path), "/proc/%u/io", pid);
	snprintf(text, sizeof(text), "rchar: 1\nread_bytes: %u\nwrite_bytes: 3\n",
		 read);
	put(path, text);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", pid, pid);
	put(path, children);
}

/* One thread of process `pid`, which waited for a CPU so long. */
static void put_thread(unsigned pid, unsigned tid, unsigned waited_ms)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	snprintf(text, sizeof(text), "1000 %u 7\n", waited_ms * 1000000);
	put(path, text);
	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", pid, tid);
	put(path, "");
}

static void put_cpus(const char *first, const char *second, const char *third)
{
	char text[512];

	snprintf(text, sizeof(text), "cpu  1 2 3 4 5 6 7 8 9 10\n%s%s%sintr 5 6 7\n",
		 first, second, third);
	put("/proc/stat", text);
}

/* Of the first two CPUs, data set on 254:0, own processes from 100 on. */
static struct host_load_config two_cpus(void)
{
	struct host_load_config config = {
		.root = scratch_path(), .first = 100, .disk = {254, 0}};

	CPU_SET(0, &config.cpus);
	CPU_SET(1, &config.cpus);
	return config;
}

static struct host_load load_at(const struct host_load_config *config, uint64_t time_ns)
{
	struct host_load load;

	host_load_read(config, &load);
	load.time_ns = time_ns;
	return load;
}

static void put_begin(void)
{
	put_cpus("cpu0 100 0 50 1000 20 0 5 7 0 0\n",
		 "cpu1 100 0 50 1000 20 0 5 7 0 0\n",
		 "cpu2 100 0 50 1000 20 0 5 7 0 0\n");
	put_process(100, 10, 0, 1000, "101 102 ");
	put_process(101, 20, 5, 2000, "103 ");
	put_process(102, 0, 0, 0, "");
	put_process(103, 40, 0, 4000, "");
	put("/proc/diskstats", " 254       1 vda1 9 9 9 9 9 9 9 9 9 9 9\n"
			       " 254       0 vda 500 10 2000 30 1 2 3 4 0 5 6\n");
	put("/proc/pressure/cpu", "some avg10=1.00 avg60=2.00 avg300=3.00 total=1000\n"
				  "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	put("/proc/loadavg", "2.50 1.00 0.50 3/99 1234\n");
}

/* A second later: of two seconds .3 were idle, and 3 ticks stolen. */
static void put_end(void)
{
	put_cpus("cpu0 190 0 50 1010 20 0 5 8 0 0\n",
		 "cpu1 170 0 50 1015 25 0 5 9 0 0\n",
		 "cpu2 900 0 50 1000 20 0 5 7 0 0\n");
	put_process(100, 20, 0, 1000, "101 102 ");
	put_process(101, 40, 45, 8000, "");
	put_process(102, 0, 0, 0, "");
	put("/proc/diskstats", " 254       0 vda 600 10 2100 30 1 2 3 4 0 5 6\n");
	put("/proc/pressure/cpu",
	    "some avg10=1.00 avg60=2.00 avg300=3.00 total=401000\n");
}

TEST_WITH(what_is_neither_idle_nor_own_is_others, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	put_begin();
	from = load_at(&config, S);
	put_end();
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.length_ns, S);
	assert_int_equal(load.cpu_ns, 2 * (uint64_t)S);
	/* 100: 10 more ticks twice; 101: 20, and 40 of 103, which ended, twice. The 40
	 * of 103 were counted at first, too. */
	assert_int_equal(load.own_ns, (2 * 10 + 2 * 20 + 2 * 40 - 2 * 40) * (S / 100));
	/* 2 s - .30 idle - .60 own */
	assert_int_equal(load.others_ns + load.steal_ns, (200 - 30 - 60) * (S / 100));
	assert_int_equal(load.steal_ns, 3 * (S / 100));
	assert_int_equal(load.own_bytes, 9000 - 7000);
	assert_int_equal(load.others_bytes, 100 * 512 - 2000);
	assert_int_equal(load.cpu_wait_ns, 400000000);
	assert_true(load.io_wait_ns == UINT64_MAX);
	assert_true(fabs(load.load - 2.5) < 1e-9);
	assert_true(isnan(load.hz));
}

/* dsa is 100. */
TEST_WITH(what_threads_wait_for_a_cpu_is_known_while_they_are_the_same, scratch_setup,
	  scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	put_begin();
	put_process(101, 20, 5, 2000, "");
	put_process(100, 10, 0, 1000, "101 ");
	put_thread(101, 104, 70);
	from = load_at(&config, S);
	put_thread(101, 104, 90);
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_true(load.queue_ns == UINT64_MAX); /* of its first thread */
	put("/proc/101/task/101/schedstat", "1000 5000000 7\n");
	from = load_at(&config, S);
	put_thread(101, 104, 100);
	put("/proc/101/task/101/schedstat", "1000 7000000 7\n");
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.queue_ns, (10 + 2) * 1000000);
	put_thread(101, 105, 0);
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_true(load.queue_ns == UINT64_MAX);
}

/* Of two CPUs a quota of one, in a group that others are in. */
TEST_WITH(a_quota_that_is_used_up_counts_instead, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	put("/proc/self/cgroup", "0::/app\n");
	put("/proc/self/mountinfo", "30 20 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
	put("/cg/app/cpu.max", "100000 100000\n");
	config.quota = 1;
	put_begin();
	put("/cg/app/cpu.stat", "usage_usec 5000000\nuser_usec 1\n");
	from = load_at(&config, S);
	put_end();
	put("/cg/app/cpu.stat", "usage_usec 5950000\nuser_usec 1\n");
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.cpu_ns, S);
	assert_int_equal(load.own_ns, 60 * (S / 100));
	assert_int_equal(load.others_ns, 35 * (S / 100));
	assert_int_equal(load.steal_ns, 0);
	/* The CPUs were used to 85 %. */
	to.group_ns = from.group_ns + 8 * (S / 10);
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.cpu_ns, 2 * (uint64_t)S);
	assert_int_equal(load.others_ns + load.steal_ns, (200 - 30 - 60) * (S / 100));
	to.group_ns = UINT64_MAX;
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.cpu_ns, 2 * (uint64_t)S);
}

TEST_WITH(what_can_t_be_read_is_unknown, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	from = load_at(&config, S);
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_int_equal(load.length_ns, S);
	assert_true(load.own_ns == UINT64_MAX && load.others_ns == UINT64_MAX &&
		    load.steal_ns == UINT64_MAX && load.own_bytes == UINT64_MAX &&
		    load.others_bytes == UINT64_MAX && load.cpu_wait_ns == UINT64_MAX);
	assert_true(isnan(load.load));
}

TEST_WITH(a_cpu_without_a_line_leaves_all_unknown, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load load;

	put_begin();
	CPU_SET(9, &config.cpus);
	load = load_at(&config, S);
	assert_true(load.idle_ns == UINT64_MAX);
	CPU_ZERO(&config.cpus);
	load = load_at(&config, S);
	assert_true(load.idle_ns == UINT64_MAX);
}

/* As where a sandbox plays the kernel. */
TEST_WITH(columns_that_stand_still_say_nothing, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	put_begin();
	from = load_at(&config, S);
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_true(load.others_ns == UINT64_MAX);
	assert_int_equal(load.own_ns, 0);
}

TEST_WITH(a_child_that_nobody_waited_for_makes_own_time_unknown, scratch_setup,
	  scratch_teardown)
{
	struct host_load_config config = two_cpus();
	struct host_load from, to;
	struct trace_load load;

	put_begin();
	from = load_at(&config, S);
	put_end();
	put_process(101, 20, 5, 2000, "");
	put_process(100, 10, 0, 1000, "101 ");
	to = load_at(&config, 2 * (uint64_t)S);
	host_load_between(&config, &from, &to, &load);
	assert_true(load.own_ns == UINT64_MAX && load.others_ns == UINT64_MAX &&
		    load.others_bytes == UINT64_MAX);
}

TEST_WITH(a_process_that_is_gone_is_no_tree, scratch_setup, scratch_teardown)
{
	struct process_tree_use use;

	put_process(100, 10, 0, 1000, "101 ");
	assert_false(process_tree_read(scratch_path(), 100, NULL, &use));
	put_process(101, 10, 0, 1000, "");
	assert_true(process_tree_read(scratch_path(), 100, NULL, &use));
	assert_int_equal(use.cpu_ns, 4 * 10 * (S / 100));
	assert_int_equal(use.read_bytes, 2000);
}

TEST_WITH(what_dsa_did_not_start_is_not_own, scratch_setup, scratch_teardown)
{
	const struct children others = {.others = {101}, .count = 1};
	struct process_tree_use use;

	put_process(100, 10, 0, 1000, "101 102 ");
	put_process(101, 50, 0, 1000, "103 ");
	put_process(102, 20, 0, 1000, "");
	assert_true(process_tree_read(scratch_path(), 100, &others, &use));
	assert_int_equal(use.cpu_ns, 2 * 30 * (S / 100));
}

TEST_WITH(a_process_that_hides_its_reads_hides_all, scratch_setup, scratch_teardown)
{
	struct process_tree_use use;

	put_process(100, 10, 0, 1000, "101 ");
	put_process(101, 10, 0, 1000, "");
	put("/proc/101/io", "");
	assert_true(process_tree_read(scratch_path(), 100, NULL, &use));
	assert_true(use.read_bytes == UINT64_MAX);
}

TEST_WITH(clock_rates_are_the_mean, scratch_setup, scratch_teardown)
{
	struct host_load_config config = two_cpus();

	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
	assert_true(isnan(load_at(&config, S).hz));
	put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
	assert_true(fabs(load_at(&config, S).hz - 2.5e9) < 1);
}

TEST_WITH(a_partition_lies_on_its_disk, scratch_setup, scratch_teardown)
{
	char data[PATH_MAX], text[PATH_MAX + 128];
	struct device_number disk;

	put("/data/file", "");
	snprintf(data, sizeof(data), "%s/data", scratch_path());
	snprintf(text, sizeof(text),
		 "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		 "21 20 8:2 / %s rw - ext4 /dev/sda2 rw\n",
		 data);
	put("/proc/self/mountinfo", text);
	assert_true(dataset_device_disk(scratch_path(), data, &disk));
	assert_true(disk.major == 8 && disk.minor == 2);
	put("/sys/dev/block/8:2/partition", "2\n");
	put("/sys/dev/block/dev", "8:0\n");
	assert_true(dataset_device_disk(scratch_path(), data, &disk));
	assert_true(disk.major == 8 && disk.minor == 0);
	assert_false(dataset_device_disk(scratch_path(), "synthetic:400", &disk));
	snprintf(text, sizeof(text), "20 1 0:5 / / rw - tmpfs tmpfs rw\n");
	put("/proc/self/mountinfo", text);
	assert_false(dataset_device_disk(scratch_path(), data, &disk));
}

/* Burns CPU time until `cpu_ns` more of it was used. */
static void burn(uint64_t cpu_ns)
{
	uint64_t end = clock_process_cpu() + cpu_ns;

	while (clock_process_cpu() < end)
		;
}

/* On the real /proc: a child's time is own while it lives, and when it has ended. */
TEST(children_are_own)
{
	struct process_tree_use before, alive, after;
	int ready[2], status;
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	assert_true(process_tree_read("", (uint32_t)getpid(), NULL, &before));
	child = fork();
	if (child == 0) {
		burn(S / 5);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(process_tree_read("", (uint32_t)getpid(), NULL, &alive));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(process_tree_read("", (uint32_t)getpid(), NULL, &after));
	assert_true(alive.cpu_ns >= before.cpu_ns + S / 5 - S / 25);
	assert_true(after.cpu_ns >= before.cpu_ns + S / 5 - S / 25);
	close(ready[0]);
	close(ready[1]);
}

/* On the real /proc: what another one used is not own, also when it has ended. */
TEST(others_that_ended_are_not_own)
{
	struct process_tree_use before, after;
	struct children others;
	int ready[2], status;
	char byte;
	pid_t other;

	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (other == 0) {
		burn(S / 5);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	children_note(&others, NULL);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(process_tree_read("", (uint32_t)getpid(), &others, &before));
	kill(other, SIGKILL);
	assert_int_equal(children_reap(&others, &status, 0), other);
	assert_true(process_tree_read("", (uint32_t)getpid(), &others, &after));
	assert_true(after.cpu_ns < before.cpu_ns + S / 10);
	close(ready[0]);
	close(ready[1]);
}
