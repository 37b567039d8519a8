/* metric_test.c - where each count comes from, and what is said where it can't be had. */
#include "loader/base/host/procfs.h"
#include "profiler/host/counters.h"
#include "profiler/host/metric.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens an event that every machine has in the place of the one asked for. */
static int open_any(const struct perf_event_attr *attr, pid_t tid, int group)
{
	struct perf_event_attr dummy = *attr;
	long fd;

	dummy.type = PERF_TYPE_SOFTWARE;
	dummy.config = PERF_COUNT_SW_DUMMY;
	dummy.exclude_kernel = 1;
	fd = syscall(SYS_perf_event_open, &dummy, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int open_no_names(const struct perf_event_attr *attr, pid_t tid, int group)
{
	return attr->type == PERF_TYPE_RAW ? -EINVAL : open_any(attr, tid, group);
}

static int open_no_hardware(const struct perf_event_attr *attr, pid_t tid, int group)
{
	return attr->type == PERF_TYPE_SOFTWARE ? open_any(attr, tid, group) : -ENOENT;
}

static int open_user_only(const struct perf_event_attr *attr, pid_t tid, int group)
{
	return attr->exclude_kernel ? open_any(attr, tid, group) : -EACCES;
}

static int open_forbidden(const struct perf_event_attr *attr, pid_t tid, int group)
{
	(void)attr, (void)tid, (void)group;
	return -EACCES;
}

static int open_unknown(const struct perf_event_attr *attr, pid_t tid, int group)
{
	(void)attr, (void)tid, (void)group;
	return -ENOSYS;
}

static struct counters_support
support_with(int (*open)(const struct perf_event_attr *, pid_t, int), const char *root)
{
	struct counters_config config = {.root = root, .open = open};
	struct counters *counters = counters_open(&config, NULL);
	struct counters_support support;

	assert_non_null(counters);
	counters_support(counters, &support);
	counters_close(counters);
	return support;
}

TEST(the_ladder_starts_with_the_names_of_the_cpu)
{
	struct counters_support support = support_with(open_any, "");

	assert_string_equal(support.hardware, "libpfm4");
	assert_string_equal(support.kernel, "software");
	assert_string_equal(support.why, "");
}

TEST(generic_events_serve_where_names_do_not)
{
	struct counters_support support = support_with(open_no_names, "");

	assert_string_equal(support.hardware, "generic");
	assert_string_equal(support.why, "");
}

TEST(a_machine_without_a_pmu_says_so)
{
	struct counters_support support = support_with(open_no_hardware, "");

	assert_null(support.hardware);
	assert_string_equal(support.kernel, "software");
	assert_non_null(strstr(support.why, "no hardware counters"));
}

TEST(a_refusal_names_value_need_and_command)
{
	const char *file = "/proc/sys/kernel/perf_event_paranoid";
	struct counters_support user, none;
	char root[TREE_PATH];

	tree_make(root);
	tree_put(root, file, "2\n");
	user = support_with(open_user_only, root);
	assert_string_equal(user.hardware, "libpfm4");
	assert_string_equal(user.kernel, "proc");
	assert_non_null(strstr(user.why, "perf_event_paranoid is 2;"));
	assert_string_equal(user.fix, "sysctl -w kernel.perf_event_paranoid=1");

	/* At 2 user code may be counted: something else has refused that. */
	none = support_with(open_forbidden, root);
	assert_null(none.hardware);
	assert_non_null(strstr(none.why, "Permission denied"));
	assert_non_null(strstr(none.fix, "seccomp"));

	tree_put(root, file, "4\n");
	none = support_with(open_forbidden, root);
	tree_remove(root);
	assert_non_null(strstr(none.why, "perf_event_paranoid is 4;"));
}

TEST(a_kernel_without_perf_events_says_so)
{
	struct counters_support support = support_with(open_unknown, "");

	assert_null(support.hardware);
	assert_string_equal(support.kernel, "proc");
	assert_non_null(strstr(support.why, "no perf events"));
}

TEST(counts_are_scaled_and_keep_their_share)
{
	struct metric_value from = {50, 100, 100}, to = {150, 300, 150}, sum = {0};
	double running;

	metric_add(&sum, &from, &to);
	assert_true(metric_scaled(&sum, METRIC_CYCLES, &running) == 400);
	assert_true(running == 0.25);

	sum = (struct metric_value){0, 100, 0}; /* wanted, never on a counter */
	assert_true(isnan(metric_scaled(&sum, METRIC_CYCLES, &running)));
	sum = (struct metric_value){0}; /* the thread never ran */
	assert_true(isnan(metric_scaled(&sum, METRIC_CYCLES, &running)));
	assert_true(metric_scaled(&sum, METRIC_MAJOR_FAULTS, &running) == 0);
}

TEST(the_manual_tells_of_every_metric)
{
	char manual[1 << 16];

	assert_true(procfs_read(manual, sizeof(manual), "", "man/dsa-result.5") > 0);
	for (int i = 0; i < METRICS; i++)
		if (strstr(manual, metric_name(i)) == NULL)
			fail_msg("man/dsa-result.5 does not describe %s",
				 metric_name(i));
}

/* libpfm4 need not know this CPU to be tried: let it take it for another. */
static int name_a_cpu(void **state)
{
	(void)state;
	return setenv("LIBPFM_FORCE_PMU", "amd64_fam17h_zen1", 1);
}

TEST_GROUP(name_a_cpu, NULL);
