/* Which engine is opened, and what when it cannot be. */
#include "loader/base/blob.h"
#include "loader/base/error.h"
#include "loader/fetch.h"
#include "tests/lib/client.h"
#include "tests/lib/folder.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const engines[] = {"pread", "pread-direct", "uring", "uring-direct"};

enum {
	ENGINES = sizeof(engines) / sizeof(engines[0]),
	LARGE = 2 << 20, /* its blob is from the heap, not from the region of a pool */
};

TEST(auto_takes_an_engine_that_fits_and_says_why)
{
	struct source *source = folder_of_one("/tmp");
	struct client client;
	struct fetch_config config = {.engine = "auto", .depth = 4};
	struct fetch_client calls = {&client, client_next, client_done, client_drained};

	client_init(&client, 0);
	client.closed = true;
	for (int i = 0; i < 2; i++) {
		struct fetch_stats stats;
		struct fetch *fetch;
		bool direct;

		config.kernel_cache = i == 0;
		fetch = fetch_open(&config, source, &calls, NULL);
		assert_non_null(fetch);
		direct = strstr(fetch_facts(fetch).engine, "-direct") != NULL;
		assert_int_equal(direct, !config.kernel_cache);
		assert_ptr_equal(
			strstr(fetch_facts(fetch).reason, fetch_facts(fetch).engine),
			fetch_facts(fetch).reason);
		assert_non_null(strstr(fetch_facts(fetch).reason, " MB/s"));
		fetch_stats(fetch, &stats);
		assert_int_equal(stats.reads, 0);
		fetch_close(fetch);
	}
	client_fini(&client);
	folder_free(source);
}

TEST(auto_reads_only_the_samples_it_may)
{
	static const uint32_t probe[] = {590, 591, 592, 593, 594, 595};
	struct source *source = folder_of_one("/tmp");
	struct client client;
	struct fetch_config config = {
		.engine = "auto", .depth = 4, .probe = probe, .probes = 6};
	struct fetch_client calls = {&client, client_next, client_done, client_drained};
	unsigned asked = 0;

	client_init(&client, 0);
	client.closed = true;
	fetch_close(fetch_open(&config, source, &calls, NULL));
	for (uint32_t i = 0; i < FOLDER_MOST; i++)
		if (source->asked[i] && i != 0) /* 0: to learn about the file system */
			asked += i >= 590 && i <= 595 ? 1 : FOLDER_MOST;
	assert_in_range(asked, 1, 6);
	client_fini(&client);
	folder_free(source);
}

static bool filter_calls(struct sock_filter *code, unsigned short length)
{
	struct sock_fprog program = {.len = length, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* From here on io_uring_setup() is refused, as in many containers. */
static bool refuse_io_uring(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter_calls(code, 4);
}

/* From here on openat() refuses O_DIRECT, as some file systems do. */
static bool refuse_direct(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter_calls(code, 6);
}

/* Runs the test, which returns 0 if all is well, in a process that it may spoil. */
static int in_a_child(int (*test)(const struct source *), const struct source *source)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(test(source));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int without_io_uring(const struct source *source)
{
	struct client client;
	struct fetch_config config = {.engine = "uring", .depth = 4};
	struct fetch_client calls = {&client, client_next, client_done, client_drained};
	struct error err = {0};
	struct fetch *fetch;
	bool well;

	client_init(&client, 0);
	client.closed = true;
	if (!refuse_io_uring())
		return 1;
	if (fetch_open(&config, source, &calls, &err) != NULL || err.code != EPERM ||
	    strstr(err.message, "seccomp") == NULL)
		return 2;
	config.engine = "auto";
	fetch = fetch_open(&config, source, &calls, &err);
	well = fetch != NULL &&
	       strcmp(fetch_facts(fetch).engine, "pread-direct") == 0 &&
	       strstr(fetch_facts(fetch).reason, "io_uring is not allowed") != NULL;
	fetch_close(fetch);
	client_fini(&client);
	return well ? 0 : 3;
}

TEST(without_io_uring_auto_takes_pread)
{
	struct source *source = folder_of_one("/tmp");

	assert_int_equal(in_a_child(without_io_uring, source), 0);
	folder_free(source);
}

enum { PAGES = 1024 };

/* Which pages of a file are in the page cache. */
static bool resident_pages(const struct source *source, const char *path, size_t size,
			   unsigned char page[PAGES])
{
	int fd = openat(source->dir, path, O_RDONLY);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	bool known;

	fsync(fd); /* dirty pages can't be dropped */
	close(fd);
	if (map == MAP_FAILED)
		return false;
	known = mincore(map, size, page) == 0;
	munmap(map, size);
	return known;
}

/* Pages of the folder's files that are in the page cache. */
static size_t resident(const struct source *source)
{
	unsigned char page[PAGES];
	size_t sum = 0;

	for (uint32_t i = 0; i < source->count; i++) {
		size_t size = source->place[i].size;

		if (!resident_pages(source, source->place[i].path, size, page))
			return SIZE_MAX;
		for (size_t p = 0; p < (size + 4095) / 4096; p++)
			sum += page[p] & 1;
	}
	return sum;
}

/* A file of 32 pages; the sample is a part of pages 8 to 11. */
static struct source *new_shard(void)
{
	struct source *source = folder_new("/var/tmp");

	folder_add(source, "shard", 32 * 4096, 32 * 4096);
	source->place[0].part = true;
	source->place[0].offset = 8 * 4096 + 100;
	source->place[0].size = 3 * 4096;
	return source;
}

static bool all_but_the_part_resident(const struct source *source)
{
	unsigned char page[PAGES];

	if (!resident_pages(source, "shard", 32 * 4096, page))
		return false;
	for (int i = 0; i < 32; i++)
		if ((page[i] & 1) == (i >= 8 && i < 12))
			return false;
	return true;
}

/*
 * Brings the shard into the page cache page by page: the kernel lets go of what it read
 * at once only as a whole. With `dirty` each page is then written to.
 */
static bool bring_pages(const struct source *source, bool dirty)
{
	int fd = openat(source->dir, "shard", O_RDWR);
	bool well = fsync(fd) == 0;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; i < 32; i++) {
		char byte;

		well = well && pread(fd, &byte, 1, i * 4096) == 1 &&
		       (!dirty || pwrite(fd, &byte, 1, i * 4096) == 1);
	}
	close(fd);
	return well;
}

static int part_without_direct(const struct source *source)
{
	if (!refuse_direct())
		return 1;
	for (int e = 1; e < ENGINES; e += 2) {
		struct client client;

		if (!bring_pages(source, false))
			return 2;
		client_read(&client, source, engines[e], 1);
		folder_check_part(client.blob[0], "shard", 8 * 4096 + 100, 3 * 4096);
		client_fini(&client);
		if (!all_but_the_part_resident(source))
			return 3;
	}
	return 0;
}

static bool on_memory(const struct source *source)
{
	struct client client;
	struct fetch *fetch;
	bool memory;

	client_init(&client, 0);
	client.closed = true;
	fetch = client_open(&client, source, "pread", 1, NULL);
	memory = fetch_facts(fetch).memory;
	fetch_close(fetch);
	client_fini(&client);
	return memory;
}

TEST(of_a_part_its_own_pages_alone_leave_the_page_cache)
{
	struct source *source = new_shard();

	if (!on_memory(source))
		assert_int_equal(in_a_child(part_without_direct, source), 0);
	folder_free(source);
}

TEST(a_part_is_evicted_alone)
{
	struct source *source = new_shard();
	struct client client;
	struct fetch *fetch;

	client_init(&client, 0);
	fetch = client_open(&client, source, "pread", 1, NULL);
	assert_true(bring_pages(source, true));
	fetch_evict(fetch, 0);
	assert_true(fetch_facts(fetch).memory || all_but_the_part_resident(source));
	client_set(&client, &client.closed, true);
	fetch_close(fetch);
	client_fini(&client);
	folder_free(source);
}

static int without_direct(const struct source *source)
{
	if (!refuse_direct())
		return 1;
	for (int e = 1; e < ENGINES; e += 2) {
		struct client client;
		struct fetch *fetch;
		bool told;

		client_init(&client, FOLDER_FILES);
		fetch = client_open(&client, source, engines[e], 4, NULL);
		told = !fetch_facts(fetch).direct &&
		       strstr(fetch_facts(fetch).reason, "dropped from the page cache");
		client_wait(&client, &client.done, FOLDER_FILES);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		for (int i = 0; i < FOLDER_FILES; i++)
			folder_check(client.blob[i], folder_names[i], folder_sizes[i]);
		client_fini(&client);
		if (!told || resident(source) != 0)
			return 2;
	}
	return 0;
}

TEST(where_direct_is_refused_nothing_stays_in_the_page_cache)
{
	struct source *source = folder_usual("/var/tmp");
	bool memory = on_memory(source);

	assert_true(resident(source) > 0);
	if (!memory)
		assert_int_equal(in_a_child(without_direct, source), 0);
	folder_free(source);
}

/* A link leads to a file system that has no O_DIRECT. */
TEST(one_file_may_refuse_direct)
{
	struct source *source = folder_new("/var/tmp");

	folder_add(source, "first", 100, 100);
	assert_int_equal(symlinkat("/proc/version", source->dir, "second"), 0);
	source->place[1] = (struct source_place){.path = "second", .size = 10000};
	source->count = 2;
	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		client_read(&client, source, engines[e], 2);
		folder_check(client.blob[0], "first", 100);
		assert_non_null(client.blob[1]);
		assert_memory_equal(client.blob[1]->data, "Linux version", 13);
		client_fini(&client);
	}
	folder_free(source);
}

TEST(nonsense_is_refused)
{
	struct source source = {.dir = -1, .count = 0};
	struct fetch_config config = {.engine = "carrier-pigeon", .depth = 1};
	struct fetch_client client = {0};
	struct error err = {0};

	assert_null(fetch_open(&config, &source, &client, &err));
	assert_int_equal(err.code, EINVAL);
	assert_non_null(strstr(err.message, "'carrier-pigeon'"));
	config = (struct fetch_config){.engine = "pread", .depth = 257};
	assert_null(fetch_open(&config, &source, &client, &err));
	assert_int_equal(err.code, EINVAL);
	assert_non_null(strstr(err.message, "257"));
}

TEST(short_memory_is_told_and_nothing_leaks)
{
	struct source *source = folder_new("/tmp");

	folder_add(source, "x", LARGE, LARGE);
	for (int e = 0; e < ENGINES; e++) {
		struct fetch_config config = {.engine = engines[e], .depth = 1};
		unsigned failures = 0;
		struct client client;
		struct fetch_client calls = {&client, client_next, client_done,
					     client_drained};
		struct fetch *fetch = NULL;

		client_init(&client, 1);
		for (; fetch == NULL; failures += fetch == NULL) {
			struct error err = {0};

			nomem_at(failures + 1);
			fetch = fetch_open(&config, source, &calls, &err);
			assert_int_equal(err.code, fetch == NULL ? ENOMEM : 0);
		}
		assert_true(failures >= 2);
		/* The next to fail is the blob of the sample. */
		client_wait(&client, &client.done, 1);
		assert_int_equal(client.result[0], -ENOMEM);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		nomem_at(0);
		client_fini(&client);
	}
	folder_free(source);
}
