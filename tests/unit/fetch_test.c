#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/blob.h"
#include "loader/fetch.h"
#include "loader/source.h"
#include "loader/throttle.h"
#include "tests/lib/client.h"
#include "tests/lib/nomem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const engines[] = {"pread", "pread-direct", "uring", "uring-direct"};

enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

/* ---- a source that says what a test wants ---- */

enum { MOST = CLIENT_MOST };

struct source {
	atomic_bool asked[MOST]; /* for its place */
	char folder[64];
	int dir;
	uint32_t count;
	struct source_place place[MOST];
};

uint32_t source_count(const struct source *source)
{
	return source->count;
}

void source_place(const struct source *source, uint32_t sample, char *buffer,
		  struct source_place *place)
{
	((struct source *)(uintptr_t)source)->asked[sample] = true;
	*place = source->place[sample];
	place->dir = source->dir;
	if (place->path != NULL)
		place->path = strcpy(buffer, place->path);
}

static struct source *folder_new(const char *where)
{
	struct source *source = calloc(1, sizeof(*source));

	snprintf(source->folder, sizeof(source->folder), "%s/dsa-fetch.XXXXXX", where);
	assert_non_null(mkdtemp(source->folder));
	source->dir = open(source->folder, O_RDONLY | O_DIRECTORY);
	assert_true(source->dir >= 0);
	return source;
}

static void folder_free(struct source *source)
{
	for (uint32_t i = 0; i < source->count; i++)
		if (source->place[i].path != NULL &&
		    unlinkat(source->dir, source->place[i].path, 0) < 0 &&
		    errno == EISDIR)
			unlinkat(source->dir, source->place[i].path, AT_REMOVEDIR);
	close(source->dir);
	assert_int_equal(rmdir(source->folder), 0);
	free(source);
}

static unsigned char byte_at(const char *name, size_t i)
{
	return (unsigned char)(name[0] + i * 7 + i / 251);
}

/* Adds a file of `size` bytes which the index believes to have `told` bytes. */
static void add(struct source *source, const char *name, size_t size, uint32_t told)
{
	int fd = openat(source->dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	unsigned char *bytes = malloc(size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(name, i);
	assert_int_equal(write(fd, bytes, size), size);
	free(bytes);
	close(fd);
	source->place[source->count++] =
		(struct source_place){.path = name, .size = told};
}

static const char *const names[] = {
	"a one byte", "b a little less", "c one block", "d one more",
	"e page",     "f page and more", "g\nnew line", "h \"quoted\" <script>",
	"i large",
};
static const uint32_t sizes[] = {1, 511, 512, 513, 4096, 4097, 110000, 131072, 3000000};

enum { FILES = sizeof(sizes) / sizeof(sizes[0]) };

static struct source *usual_folder(const char *where)
{
	struct source *source = folder_new(where);

	for (int i = 0; i < FILES; i++)
		add(source, names[i], sizes[i], sizes[i]);
	return source;
}

static struct fetch *open_for(struct client *client, const struct source *source,
			      const char *engine, unsigned depth,
			      struct throttle *throttle)
{
	const struct fetch_config config = {.engine = engine,
					    .depth = depth,
					    .throttle = throttle,
					    .thread_started = client_thread_started};
	const struct fetch_client calls = {client, client_next, client_done};
	struct error err = {0};
	struct fetch *fetch = fetch_open(&config, source, &calls, &err);

	assert_string_equal(err.message, "");
	assert_non_null(fetch);
	return fetch;
}

/* Reads the first `count` samples and closes. */
static void read_all(struct client *client, const struct source *source,
		     const char *engine, uint32_t count)
{
	struct fetch *fetch;

	client_init(client, count);
	fetch = open_for(client, source, engine, 4, NULL);
	client_wait(client, &client->done, count);
	client_set(client, &client->closed, true);
	fetch_close(fetch);
}

static void assert_bytes(const struct blob *blob, const char *name, size_t size)
{
	assert_non_null(blob);
	assert_int_equal(blob->size, size);
	for (size_t i = 0; i < size; i++)
		if (blob->data[i] != byte_at(name, i))
			fail_msg("%s: byte %zu is wrong", name, i);
}

/* ---- tests ---- */

static void every_engine_reads_every_file(void **state)
{
	struct source *source = usual_folder("/tmp");

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		read_all(&client, source, engines[e], FILES);
		for (int i = 0; i < FILES; i++)
			assert_bytes(client.blob[i], names[i], sizes[i]);
		client_fini(&client);
	}
	folder_free(source);
}

static void a_file_of_another_size_than_indexed_is_read_whole(void **state)
{
	static const struct {
		const char *name;
		uint32_t size, told;
	} files[] = {
		{"shrunk", 1000, 5000},
		{"shrunk a lot", 100, 2000000},
		{"grown", 5000, 1000},
		{"grown a byte", 513, 512},
		{"grown a block", 1024, 512},
		{"grown from nothing", 600, 0},
		{"grown a lot", 3000000, 1},
		{"not as absurd as told", 70000, 4000000000},
	};
	enum { COUNT = sizeof(files) / sizeof(files[0]) };
	struct source *source = folder_new("/tmp");

	(void)state;
	for (int i = 0; i < COUNT; i++)
		add(source, files[i].name, files[i].size, files[i].told);
	for (int e = 0; e < ENGINES; e++) {
		struct client client;

		read_all(&client, source, engines[e], COUNT);
		for (int i = 0; i < COUNT; i++)
			assert_bytes(client.blob[i], files[i].name, files[i].size);
		client_fini(&client);
	}
	folder_free(source);
}

static void what_cannot_be_read_is_told(void **state)
{
	static const int why[] = {EBADMSG, ENOENT, EISDIR, ESPIPE, ELOOP, EFBIG, 0};
	struct source *source = folder_new("/tmp");
	struct client client;
	int fd;

	(void)state;
	add(source, "empty", 0, 1000);
	source->place[1] = (struct source_place){.path = "missing", .size = 100};
	source->place[2] = (struct source_place){.path = "folder", .size = 4096};
	assert_int_equal(mkdirat(source->dir, "folder", 0700), 0);
	source->place[3] = (struct source_place){.path = "pipe", .size = 100};
	assert_int_equal(mkfifoat(source->dir, "pipe", 0600), 0);
	source->place[4] = (struct source_place){.path = "loop", .size = 100};
	assert_int_equal(symlinkat("loop", source->dir, "loop"), 0);
	source->count = 5;
	add(source, "huge", 1, 100);
	fd = openat(source->dir, "huge", O_WRONLY);
	assert_int_equal(ftruncate(fd, (1 << 30) + 1ll), 0);
	close(fd);
	add(source, "good", 100, 100);
	for (int e = 0; e < ENGINES; e++) {
		read_all(&client, source, engines[e], source->count);
		for (uint32_t i = 0; i < source->count; i++) {
			assert_int_equal(client.result[i], -why[i]);
			assert_int_equal(client.blob[i] == NULL, why[i] != 0);
		}
		client_fini(&client);
	}
	folder_free(source);
}

static void samples_in_memory_are_served_by_any_engine(void **state)
{
	struct source source = {.dir = -1, .count = 2};
	unsigned char bytes[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = byte_at("m", i);
	source.place[0] = (struct source_place){.memory = bytes, .size = sizeof(bytes)};
	source.place[1] = (struct source_place){.memory = bytes, .size = 0};
	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		client_init(&client, 2);
		fetch = open_for(&client, &source, engines[e], 2, NULL);
		client_wait(&client, &client.done, 2);
		assert_true(fetch_memory(fetch));
		assert_false(fetch_direct(fetch));
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		assert_bytes(client.blob[0], "m", sizeof(bytes));
		assert_int_equal(client.result[1], -EBADMSG);
		client_fini(&client);
	}
}

static void direct_engines_bypass_the_page_cache_where_they_can(void **state)
{
	struct source *source = usual_folder("/dev/shm");
	struct source *disk = usual_folder("/var/tmp");

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		read_all(&client, source, engines[e], FILES);
		for (int i = 0; i < FILES; i++)
			assert_bytes(client.blob[i], names[i], sizes[i]);
		client_fini(&client);

		client_init(&client, 0);
		client.closed = true;
		fetch = open_for(&client, source, engines[e], 1, NULL);
		assert_true(fetch_memory(fetch));
		assert_false(fetch_direct(fetch));
		assert_non_null(strstr(fetch_reason(fetch), "storage is memory"));
		fetch_close(fetch);

		fetch = open_for(&client, disk, engines[e], 1, NULL);
		if (!fetch_memory(fetch) && strstr(engines[e], "-direct") != NULL)
			assert_true(fetch_direct(fetch) ||
				    strstr(fetch_reason(fetch), "dropped") != NULL);
		else
			assert_false(fetch_direct(fetch));
		fetch_close(fetch);
		client_fini(&client);
	}
	folder_free(source);
	folder_free(disk);
}

/* One small file under many numbers. */
static struct source *many_samples(void)
{
	struct source *source = folder_new("/tmp");

	add(source, "x", 1000, 1000);
	for (source->count = 1; source->count < MOST; source->count++)
		source->place[source->count] = source->place[0];
	return source;
}

static void many_free(struct source *source)
{
	source->count = 1;
	folder_free(source);
}

static void no_more_reads_are_out_than_the_depth(void **state)
{
	struct source *source = many_samples();

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		for (unsigned depth = 1; depth <= 16; depth *= 4) {
			/* Held back by the throttle, they keep their places. */
			struct throttle *throttle = throttle_new(0, 3600);
			struct client client;
			struct fetch *fetch;

			client_init(&client, MOST);
			fetch = open_for(&client, source, engines[e], depth, throttle);
			client_wait(&client, &client.out, depth);
			assert_int_equal(fetch_set_depth(fetch, depth + 3), 0);
			client_wait(&client, &client.out, depth + 3);
			client_flush(&client, fetch, depth + 3);
			client_wait(&client, &client.out, depth + 3);
			assert_int_equal(client.most_out, depth + 3);
			assert_int_equal(fetch_set_depth(fetch, 1), 0);
			client_want(&client, 0);
			client_set(&client, &client.closed, true);
			fetch_close(fetch);
			assert_int_equal(client.out, 0);
			assert_int_equal(client.most_out, depth + 3);
			client_fini(&client);
			throttle_free(throttle);
		}
	}
	many_free(source);
}

static void a_lower_depth_holds_from_then_on(void **state)
{
	struct source *source = many_samples();

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		struct client client;
		struct fetch *fetch;

		client_init(&client, 100);
		fetch = open_for(&client, source, engines[e], 16, NULL);
		client_wait(&client, &client.done, 100);
		assert_int_equal(fetch_set_depth(fetch, 2), 0);
		client.most_out = 0;
		client_want(&client, MOST);
		client_wait(&client, &client.done, MOST);
		assert_in_range(client.most_out, 1, 2);
		assert_int_equal(fetch_set_depth(fetch, 0), -EINVAL);
		assert_int_equal(fetch_set_depth(fetch, 257), -EINVAL);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		client_fini(&client);
	}
	many_free(source);
}

static void work_that_comes_later_is_seen_while_reads_are_held(void **state)
{
	struct source *source = many_samples();

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		struct throttle *throttle = throttle_new(0, 3600);
		struct client client;
		struct fetch *fetch;

		client_init(&client, 1);
		fetch = open_for(&client, source, engines[e], 4, throttle);
		client_wait(&client, &client.out, 1);
		client_set(&client, &client.unthrottled, true);
		client_want(&client, 21);
		fetch_kick(fetch);
		client_wait(&client, &client.done, 20);
		assert_null(client.blob[0]);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		assert_int_equal(client.done, 21);
		client_fini(&client);
		throttle_free(throttle);
	}
	many_free(source);
}

static void closing_waits_for_reads_in_flight(void **state)
{
	struct source *source = many_samples();

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		for (int i = 0; i < 20; i++) {
			struct client client;
			struct fetch *fetch;

			client_init(&client, i % 2 == 0 ? 0 : MOST);
			fetch = open_for(&client, source, engines[e], 8, NULL);
			if (i % 4 == 0)
				client_wait(&client, &client.waits, 1);
			pthread_mutex_lock(&client.lock);
			client.end = client.next;
			client.closed = true;
			pthread_cond_broadcast(&client.changed);
			pthread_mutex_unlock(&client.lock);
			fetch_close(fetch);
			assert_int_equal(client.out, 0);
			assert_int_equal(client.done, client.next);
			client_fini(&client);
		}
	}
	many_free(source);
}

/* min(bandwidth / bytes, depth / latency) is what it may be at the most. */
static void a_throttled_engine_is_never_faster_than_its_storage(void **state)
{
	static const struct {
		double bandwidth, latency, per_s;
	} cases[] = {{2e6, 0, 2000}, {0, .004, 1000}, {1e6, .001, 1000}};
	struct source *source = many_samples();
	enum { READS = 100, DEPTH = 4 };

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		for (int i = 0; i < 3; i++) {
			struct throttle *throttle =
				throttle_new(cases[i].bandwidth, cases[i].latency);
			uint64_t start = clock_now();
			struct throttle_stats stats;
			struct client client;
			struct fetch *fetch;
			double elapsed;

			client_init(&client, READS);
			fetch = open_for(&client, source, engines[e], DEPTH, throttle);
			client_wait(&client, &client.done, READS);
			elapsed = (double)(clock_now() - start) / 1e9;
			/* The full bucket lets the first one through at once.
			 */
			assert_true((READS - 1) / elapsed <= cases[i].per_s);
			throttle_stats(throttle, &stats);
			assert_int_equal(stats.reads, READS);
			assert_int_equal(stats.bytes, READS * 1000);
			client_set(&client, &client.closed, true);
			fetch_close(fetch);
			client_fini(&client);
			throttle_free(throttle);
		}
	}
	many_free(source);
}

static void reads_are_counted(void **state)
{
	struct source *source = usual_folder("/tmp");

	(void)state;
	unlinkat(source->dir, names[2], 0);
	for (int e = 0; e < ENGINES; e++) {
		struct fetch_stats stats;
		struct client client;
		struct fetch *fetch;
		uint64_t bytes = 0;

		client_init(&client, FILES);
		fetch = open_for(&client, source, engines[e], 3, NULL);
		client_wait(&client, &client.done, FILES);
		fetch_stats(fetch, &stats);
		for (int i = 0; i < FILES; i++)
			bytes += i != 2 ? sizes[i] : 0;
		assert_int_equal(stats.reads, FILES - 1);
		assert_int_equal(stats.failures, 1);
		assert_int_equal(stats.bytes, bytes);
		assert_true(stats.cpu_ns > 0);
		assert_true(client.started >= 1 && client.started <= 3);
		assert_string_equal(fetch_engine(fetch), engines[e]);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		client_fini(&client);
	}
	folder_free(source);
}

static void auto_takes_an_engine_that_fits_and_says_why(void **state)
{
	struct source *source = many_samples();
	struct client client;
	struct fetch_config config = {.engine = "auto", .depth = 4};
	struct fetch_client calls = {&client, client_next, client_done};

	(void)state;
	client_init(&client, 0);
	client.closed = true;
	for (int i = 0; i < 2; i++) {
		struct fetch_stats stats;
		struct fetch *fetch;
		bool direct;

		config.kernel_cache = i == 0;
		fetch = fetch_open(&config, source, &calls, NULL);
		assert_non_null(fetch);
		direct = strstr(fetch_engine(fetch), "-direct") != NULL;
		assert_int_equal(direct, !config.kernel_cache);
		assert_ptr_equal(strstr(fetch_reason(fetch), fetch_engine(fetch)),
				 fetch_reason(fetch));
		assert_non_null(strstr(fetch_reason(fetch), " MB/s"));
		fetch_stats(fetch, &stats);
		assert_int_equal(stats.reads, 0);
		fetch_close(fetch);
	}
	client_fini(&client);
	many_free(source);
}

static void auto_reads_only_the_samples_it_may(void **state)
{
	static const uint32_t probe[] = {590, 591, 592, 593, 594, 595};
	struct source *source = many_samples();
	struct client client;
	struct fetch_config config = {
		.engine = "auto", .depth = 4, .probe = probe, .probes = 6};
	struct fetch_client calls = {&client, client_next, client_done};
	unsigned asked = 0;

	(void)state;
	client_init(&client, 0);
	client.closed = true;
	fetch_close(fetch_open(&config, source, &calls, NULL));
	for (uint32_t i = 0; i < MOST; i++)
		if (source->asked[i] && i != 0) /* 0: to learn about the file system */
			asked += i >= 590 && i <= 595 ? 1 : MOST;
	assert_in_range(asked, 1, 6);
	client_fini(&client);
	many_free(source);
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
	struct sock_fprog program = {.len = 4, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child process. Returns 0 if all is well, else the line that is not. */
static int without_io_uring(const struct source *source)
{
	struct client client;
	struct fetch_config config = {.engine = "uring", .depth = 4};
	struct fetch_client calls = {&client, client_next, client_done};
	struct error err = {0};
	struct fetch *fetch;
	int line = 0;

	client_init(&client, 0);
	client.closed = true;
	if (!refuse_io_uring())
		return __LINE__;
	if (fetch_open(&config, source, &calls, &err) != NULL || err.code != EPERM ||
	    strstr(err.message, "seccomp") == NULL)
		return __LINE__;
	config.engine = "auto";
	fetch = fetch_open(&config, source, &calls, &err);
	if (fetch == NULL || strcmp(fetch_engine(fetch), "pread-direct") != 0)
		return __LINE__;
	if (strstr(fetch_reason(fetch), "io_uring is not allowed") == NULL)
		line = __LINE__;
	fetch_close(fetch);
	client_fini(&client);
	return line;
}

static void without_io_uring_auto_takes_pread(void **state)
{
	struct source *source = many_samples();
	int status;
	pid_t child;

	(void)state;
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(without_io_uring(source) % 256);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	many_free(source);
}

static void nonsense_is_refused(void **state)
{
	struct source source = {.dir = -1, .count = 0};
	struct fetch_config config = {.engine = "carrier-pigeon", .depth = 1};
	struct fetch_client client = {0};
	struct error err = {0};

	(void)state;
	assert_null(fetch_open(&config, &source, &client, &err));
	assert_int_equal(err.code, EINVAL);
	assert_non_null(strstr(err.message, "'carrier-pigeon'"));
	config = (struct fetch_config){.engine = "pread", .depth = 257};
	assert_null(fetch_open(&config, &source, &client, &err));
	assert_int_equal(err.code, EINVAL);
	assert_non_null(strstr(err.message, "257"));
}

static void short_memory_is_told_and_nothing_leaks(void **state)
{
	struct source *source = usual_folder("/tmp");

	(void)state;
	for (int e = 0; e < ENGINES; e++) {
		struct fetch_config config = {.engine = engines[e], .depth = 1};
		unsigned failures = 0;
		struct client client;
		struct fetch_client calls = {&client, client_next, client_done};
		struct fetch *fetch = NULL;

		client_init(&client, 1);
		for (; fetch == NULL; failures += fetch == NULL) {
			struct error err = {0};

			nomem_at(failures + 1);
			fetch = fetch_open(&config, source, &calls, &err);
			assert_int_equal(err.code, fetch == NULL ? ENOMEM : 0);
		}
		assert_true(failures >= 2);
		/* The next to fail is the blob of the first sample. */
		client_wait(&client, &client.done, 1);
		assert_int_equal(client.result[0], -ENOMEM);
		client_set(&client, &client.closed, true);
		fetch_close(fetch);
		nomem_at(0);
		client_fini(&client);
	}
	folder_free(source);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_engine_reads_every_file),
		cmocka_unit_test(a_file_of_another_size_than_indexed_is_read_whole),
		cmocka_unit_test(what_cannot_be_read_is_told),
		cmocka_unit_test(samples_in_memory_are_served_by_any_engine),
		cmocka_unit_test(direct_engines_bypass_the_page_cache_where_they_can),
		cmocka_unit_test(no_more_reads_are_out_than_the_depth),
		cmocka_unit_test(a_lower_depth_holds_from_then_on),
		cmocka_unit_test(work_that_comes_later_is_seen_while_reads_are_held),
		cmocka_unit_test(closing_waits_for_reads_in_flight),
		cmocka_unit_test(a_throttled_engine_is_never_faster_than_its_storage),
		cmocka_unit_test(reads_are_counted),
		cmocka_unit_test(auto_takes_an_engine_that_fits_and_says_why),
		cmocka_unit_test(auto_reads_only_the_samples_it_may),
		cmocka_unit_test(without_io_uring_auto_takes_pread),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(short_memory_is_told_and_nothing_leaks),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
