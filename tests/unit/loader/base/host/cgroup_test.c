/* How much memory the control groups leave a process. */
#include "loader/base/host/cgroup.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdint.h>

#define MIB ((uint64_t)1 << 20)

TEST_WITH(version_2_leaves_what_is_not_pinned, scratch_setup, scratch_teardown)
{
	scratch_text("proc/self/cgroup", "0::/pod/app\n");
	scratch_text("proc/self/mountinfo",
		     "30 20 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw\n");
	assert_true(cgroup_memory_most(scratch_path()) == UINT64_MAX);
	scratch_text("cg/pod/app/memory.max", "max\n");
	scratch_text("cg/pod/memory.max", "268435456\n");
	assert_true(cgroup_memory_most(scratch_path()) == 256 * MIB);
	scratch_text("cg/pod/memory.current", "262144000\n");
	scratch_text("cg/pod/memory.stat",
		     "anon 33554432\nfile 220200960\nshmem 33554432\n");
	assert_true(cgroup_memory_most(scratch_path()) == 192 * MIB);
	scratch_text("proc/meminfo", "SwapTotal: 1024 kB\n");
	assert_true(cgroup_memory_most(scratch_path()) == 256 * MIB);
}

TEST_WITH(version_1_is_read_as_well, scratch_setup, scratch_teardown)
{
	scratch_text("proc/self/cgroup", "4:memory:/\n");
	scratch_text("proc/self/mountinfo",
		     "31 20 0:27 / /cg/memory rw,nosuid - cgroup cgroup rw,memory\n");
	scratch_text("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(cgroup_memory_most(scratch_path()) == UINT64_MAX);
	scratch_text("cg/memory/memory.limit_in_bytes", "268435456\n");
	scratch_text("cg/memory/memory.stat",
		     "rss 5\ntotal_rss 33554432\ntotal_shmem 1048576\n");
	assert_true(cgroup_memory_most(scratch_path()) == 223 * MIB);
}
