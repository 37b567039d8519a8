/* warm_up_test.c - when shards are read beforehand, and that all of them are. */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/local/warm_up.h"
#include "loader/source.h"
#include "tests/lib/scratch.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	TOKENS = 1 << 10,
	SHARD = 6 << 20,
	PAGE = 4096,
	ALL = SHARD / PAGE,
	MOST = ALL - ALL / 64 /* a busy machine had four fewer than all */
};

#define KIB (UINT64_C(1) << 10)
#define GIB (UINT64_C(1) << 30)

static struct source *open_source(const char *dataset, const char *prep)
{
	const struct source_config config = {
		.threads = 1, .index_dir = "", .prep = prep, .length = TOKENS};

	return source_opened(dataset, &config);
}

/* Two files of windows of 2 KiB, to which 1 KiB beside each is added. */
static struct source *open_shards(void)
{
	scratch_file("t/a.bin", SHARD);
	scratch_file("t/b.bin", SHARD);
	return open_source("t", "tokens");
}

TEST_WITH(it_pays_where_small_samples_fit_into_memory, scratch_setup, scratch_teardown)
{
	struct source *source = open_shards();
	uint32_t count = source_count(source);
	uint64_t bytes = source_facts(source)->bytes + KIB * count;

	assert_int_equal(count, 2 * ((SHARD / 2 - 1) / TOKENS));
	assert_true(warm_up_pays(source, count, 2 * bytes));
	assert_false(warm_up_pays(source, count, 2 * bytes - 1));
	assert_true(warm_up_pays(source, bytes / (256 * KIB), GIB));
	assert_false(warm_up_pays(source, bytes / (256 * KIB) - 1, GIB));
	assert_false(warm_up_pays(source, count, 0));
	source_close(source);
}

TEST_WITH(whole_files_are_no_shards, scratch_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("i/a/1.jpg", 100);
	source = open_source("i", "image");
	assert_false(warm_up_pays(source, 1, GIB));
	source_close(source);
	source = open_source("synthetic:10", "image");
	assert_false(warm_up_pays(source, 10, GIB));
	source_close(source);
}

TEST_WITH(the_tightest_limit_is_the_room, scratch_setup, scratch_teardown)
{
	assert_true(warm_up_room(scratch_path()) == 0);
	scratch_text("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 4096 kB\n");
	assert_true(warm_up_room(scratch_path()) == 4096 * KIB);
	scratch_text("proc/self/cgroup", "0::/\n");
	scratch_text("proc/self/mountinfo",
		     "30 20 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw\n");
	scratch_text("cg/memory.max", "2097152\n");
	scratch_text("cg/memory.current", "1048576\n");
	assert_true(warm_up_room(scratch_path()) == 1024 * KIB);
}

/* Pages of a file that the kernel keeps. */
static unsigned kept_pages(const char *path)
{
	static unsigned char is_kept[ALL];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *all = mmap(NULL, SHARD, PROT_READ, MAP_SHARED, fd, 0);
	unsigned kept = 0;

	assert_true(all != MAP_FAILED);
	assert_int_equal(mincore(all, SHARD, is_kept), 0);
	munmap(all, SHARD);
	close(fd);
	for (unsigned i = 0; i < ALL; i++)
		kept += is_kept[i] & 1;
	return kept;
}

static void forget(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

/* On a file system that is memory all of it is there from the beginning. */
TEST_WITH(all_of_every_shard_gets_into_the_page_cache, scratch_setup, scratch_teardown)
{
	struct source *source = open_shards();
	struct warm_up *warm;

	forget("t/a.bin");
	forget("t/b.bin");
	warm = warm_up_start(source);
	assert_non_null(warm);
	for (int i = 0; i < 2000 && kept_pages("t/b.bin") < MOST; i++)
		clock_sleep_until(clock_now() + 10000000);
	assert_true(kept_pages("t/a.bin") >= MOST);
	assert_true(kept_pages("t/b.bin") >= MOST);
	warm_up_stop(warm);
	source_close(source);
}

TEST_WITH(shards_that_are_gone_or_shorter_are_no_concern, scratch_setup,
	  scratch_teardown)
{
	struct source *source = open_shards();

	assert_int_equal(unlink("t/a.bin"), 0);
	assert_int_equal(truncate("t/b.bin", 1), 0);
	warm_up_stop(warm_up_start(source));
	warm_up_stop(NULL);
	source_close(source);
}
