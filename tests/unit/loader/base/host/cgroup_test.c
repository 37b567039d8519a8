/* How much memory the control groups leave a process. */
#include "loader/base/host/cgroup.h"
#include "tests/lib/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

/* A tree that stands in front of /proc and /cg. */
static char root[TREE_PATH];

static int new_root(void **state)
{
	(void)state;
	tree_make(root);
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

static void version_2_leaves_what_is_not_pinned(void **state)
{
	(void)state;
	tree_put(root, "/proc/self/cgroup", "0::/pod/app\n");
	tree_put(root, "/proc/self/mountinfo",
		 "30 20 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw\n");
	assert_true(cgroup_memory_most(root) == UINT64_MAX);
	tree_put(root, "/cg/pod/app/memory.max", "max\n");
	tree_put(root, "/cg/pod/memory.max", "268435456\n");
	assert_true(cgroup_memory_most(root) == 256 * MIB);
	tree_put(root, "/cg/pod/memory.current", "262144000\n");
	tree_put(root, "/cg/pod/memory.stat",
		 "anon 33554432\nfile 220200960\nshmem 33554432\n");
	assert_true(cgroup_memory_most(root) == 192 * MIB);
	tree_put(root, "/proc/meminfo", "SwapTotal: 1024 kB\n");
	assert_true(cgroup_memory_most(root) == 256 * MIB);
}

static void version_1_is_read_as_well(void **state)
{
	(void)state;
	tree_put(root, "/proc/self/cgroup", "4:memory:/\n");
	tree_put(root, "/proc/self/mountinfo",
		 "31 20 0:27 / /cg/memory rw,nosuid - cgroup cgroup rw,memory\n");
	tree_put(root, "/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(cgroup_memory_most(root) == UINT64_MAX);
	tree_put(root, "/cg/memory/memory.limit_in_bytes", "268435456\n");
	tree_put(root, "/cg/memory/memory.stat",
		 "rss 5\ntotal_rss 33554432\ntotal_shmem 1048576\n");
	assert_true(cgroup_memory_most(root) == 223 * MIB);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, new_root, remove_root)
		TEST(version_2_leaves_what_is_not_pinned),
		TEST(version_1_is_read_as_well),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
