/* Who must not be able to harm a shared loader: strangers, floods, nonsense, cheats. */
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serving.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct serving serving;

static int setup(void **state)
{
	int result = scratch_setup(state);

	setenv("XDG_CACHE_HOME", scratch_path(), 1);
	serving_init(&serving);
	return result;
}

/* The connection was closed from the other end. */
static void assert_closed(const struct job *job)
{
	char byte;
	ssize_t got;

	do
		got = recv(job->socket, &byte, 1, 0);
	while (got > 0);
	assert_true(got == 0 || errno == ECONNRESET);
}

static void say(const struct job *job, const void *bytes, size_t count)
{
	assert_int_equal(send(job->socket, bytes, count, MSG_NOSIGNAL), count);
}

/* After all that was done to it, a job gets its data. */
static void assert_serves(void)
{
	struct job job;

	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_run(&job, 2), 0);
	assert_int_equal(job.wrong, 0);
	job_leave(&job);
	assert_int_equal(serving_stop(&serving), 0);
	assert_true(serving_verdict("audit", "exactly once in 2 epochs of 1 jobs"));
}

TEST_WITH(nonsense_ends_the_connection, setup, scratch_teardown)
{
	static const struct protocol_head heads[] = {
		{PROTOCOL_MAGIC, PROTOCOL_HELLO, 8, 0},
		{PROTOCOL_MAGIC, PROTOCOL_HELLO, UINT32_MAX, 0},
		{PROTOCOL_MAGIC, 77, 0, 0},
		{PROTOCOL_MAGIC, PROTOCOL_WELCOME, 0, 0},
		{PROTOCOL_MAGIC + 1, PROTOCOL_HELLO, 0, 0},
		{PROTOCOL_MAGIC, PROTOCOL_WAIT, 0, 0},
	};
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 1);
	memset(job.hello.dataset, 'x', sizeof(job.hello.dataset)); /* has no end */
	assert_int_equal(job_join(&job, "socket"), -EPIPE);
	job_leave(&job);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		job_init(&job, 1);
		assert_int_equal(job_connect(&job, "socket"), 0);
		say(&job, &heads[i], sizeof(heads[i]));
		assert_closed(&job);
		job_leave(&job);
	}
	serving_wait(&serving, "no message of dsa's");
	assert_serves();
}

TEST_WITH(half_a_message_is_nobodys_business, setup, scratch_teardown)
{
	static const struct protocol_head head = {PROTOCOL_MAGIC, PROTOCOL_HELLO,
						  sizeof(struct protocol_hello), 0};
	struct job job;

	assert_true(serving_start(&serving));
	job_init(&job, 1);
	assert_int_equal(job_connect(&job, "socket"), 0);
	say(&job, &head, sizeof(head) - 3);
	job_leave(&job);
	assert_serves();
}

/* What a job asks for that this loader is not. */
static void assert_refused(const struct job *asks, const char *why)
{
	struct job job = *asks;

	assert_int_equal(job_join(&job, "socket"), PROTOCOL_REFUSED);
	if (strstr(job.why, why) == NULL)
		fail_msg("'%s' does not say '%s'", job.why, why);
	assert_closed(&job);
	job_leave(&job);
}

TEST_WITH(what_does_not_fit_is_refused_with_the_reason, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	job.hello.version = 9;
	assert_refused(&job, "version 6, the job version 9");
	serving_job(&job, 16);
	strcpy(job.hello.dataset, "/other/pictures");
	assert_refused(&job, "'synthetic:100', the job wants '/other/pictures'");
	serving_job(&job, 16);
	strcpy(job.hello.prep, "image");
	job.hello.size = 224;
	assert_refused(&job,
		       "makes 'uint8 NCHW 8 raw', the job wants 'uint8 NCHW 224'");
	assert_refused(&job, "dsa serve DATASET --socket PATH --size 224 --layout nchw "
			     "--type uint8");
	serving_job(&job, 16);
	job.hello.size = 9;
	assert_refused(&job, "wants 'uint8 NCHW 9 raw': start one for it");
	job.hello.size = 1u << 31;
	assert_refused(&job, "samples that nobody makes");
	serving_job(&job, 16);
	job.hello.type = DSA_INT64 + 1;
	assert_refused(&job, "samples that nobody makes");
	serving_job(&job, 16);
	job.hello.layout = 2;
	assert_refused(&job, "samples that nobody makes");
	serving_job(&job, 16);
	strcpy(job.hello.prep, "decoded");
	assert_refused(&job, "samples that nobody makes");
	serving_job(&job, 57);
	assert_refused(&job, "at most 56");
	serving_job(&job, 0);
	assert_refused(&job, "batches of 0");
	serving_job(&job, UINT32_MAX);
	assert_refused(&job, "batches of 4294967295");
	serving_job(&job, 16);
	job.hello.world = 4;
	assert_refused(&job, "world is 4");
	serving_job(&job, 16);
	job.hello.in_order = 1;
	assert_refused(&job, "dsa serve DATASET --socket PATH --in-order");
	assert_serves();
}

TEST_WITH(a_job_that_talks_nonsense_loses_its_slot, setup, scratch_teardown)
{
	struct protocol_refused refused = {"no"};
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(protocol_send(job.socket, PROTOCOL_REFUSED, &refused,
				       sizeof(refused), NULL, 0),
			 0); /* a loader says that */
	assert_closed(&job);
	job_leave(&job);
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_hello(&job), 0); /* once is enough */
	assert_closed(&job);
	job_leave(&job);
	serving_wait(&serving, "makes no sense");
	assert_int_equal(serving_stop(&serving), 0);
}

/* More than there are descriptors for. */
TEST_WITH(a_flood_of_connections_is_refused_in_few_words, setup, scratch_teardown)
{
	enum { FLOOD = 1000 };
	struct job jobs[100];

	assert_true(serving_start(&serving));
	for (int i = 0; i < FLOOD; i++) {
		struct job *job = &jobs[i % 100];

		if (i >= 100)
			job_leave(job);
		job_init(job, 1);
		assert_int_equal(job_connect(job, "socket"), 0);
	}
	serving_wait(&serving, "refused");
	assert_true(serving_told(&serving, "refused") < 20);
	for (int i = 0; i < 100; i++)
		job_leave(&jobs[i]);
	/* They are gone when the loader has seen it: it has answered somebody since. */
	for (;;) {
		struct job job;

		serving_job(&job, 16);
		if (job_join(&job, "socket") == PROTOCOL_WELCOME) {
			job_leave(&job);
			break;
		}
		job_leave(&job);
	}
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(all_slots_may_be_taken, setup, scratch_teardown)
{
	struct job jobs[BCAST_READERS + 1];

	assert_true(serving_start(&serving));
	for (int i = 0; i < BCAST_READERS; i++) {
		serving_job(&jobs[i], 1);
		assert_int_equal(job_join(&jobs[i], "socket"), PROTOCOL_WELCOME);
	}
	serving_job(&jobs[BCAST_READERS], 1);
	assert_int_equal(job_join(&jobs[BCAST_READERS], "socket"), PROTOCOL_REFUSED);
	assert_non_null(strstr(jobs[BCAST_READERS].why, "64 reader slots"));
	for (int i = 0; i <= BCAST_READERS; i++)
		job_leave(&jobs[i]);
	assert_int_equal(serving_stop(&serving), 0);
}

TEST_WITH(status_is_told_to_whoever_asks, setup, scratch_teardown)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	char answer[65536], *json = NULL;
	size_t have = 0;
	struct job job;
	ssize_t got;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_int_equal(job_step(&job, 10 * SECOND), 1);
	assert_int_equal(share_status("socket", &json, NULL), 0);
	assert_non_null(strstr(json, "\"batches of 16\""));
	assert_non_null(strstr(json, "\"free\""));
	free(json);
	job_leave(&job);
	job_init(&job, 1);
	assert_int_equal(job_connect(&job, "socket"), 0);
	say(&job, request, sizeof(request) - 1);
	while ((got = recv(job.socket, answer + have, sizeof(answer) - 1 - have, 0)) >
	       0)
		have += (size_t)got;
	answer[have] = '\0';
	assert_int_equal(strncmp(answer, "HTTP/1.", 7), 0);
	assert_non_null(strstr(answer, "# EOF"));
	job_leave(&job);
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(share_status("socket", &json, NULL), -ENOENT);
}

TEST_WITH(the_memory_can_not_be_written, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	serving_job(&job, 16);
	assert_int_equal(job_join(&job, "socket"), PROTOCOL_WELCOME);
	assert_ptr_equal(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, job.memory, 0),
		MAP_FAILED);
	assert_int_equal(write(job.memory, "x", 1), -1);
	assert_int_equal(ftruncate(job.memory, 0), -1);
	job_leave(&job);
	assert_int_equal(serving_stop(&serving), 0);
}

/* ---- the socket ---- */

TEST_WITH(the_socket_is_ours_alone_and_only_one_loader_has_it, setup, scratch_teardown)
{
	struct serving other;
	struct stat at, audit, after;

	assert_true(serving_start(&serving));
	assert_int_equal(stat("socket", &at), 0);
	assert_int_equal(at.st_mode & 0777, 0600);
	assert_int_equal(stat("audit", &audit), 0);
	serving_init(&other);
	assert_false(serving_start(&other));
	assert_non_null(strstr(other.err.message, "listens at socket already"));
	assert_int_equal(stat("socket", &at), 0);
	assert_int_equal(stat("audit", &after), 0);
	assert_int_equal(after.st_size, audit.st_size);
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(stat("socket", &at), -1);
}

TEST_WITH(a_socket_that_nobody_answers_at_is_replaced, setup, scratch_teardown)
{
	struct job job;

	assert_true(serving_start(&serving));
	assert_int_equal(link("socket", "stale"), 0);
	assert_int_equal(serving_stop(&serving), 0);
	assert_int_equal(rename("stale", "socket"), 0);
	job_init(&job, 1);
	assert_int_equal(job_connect(&job, "socket"), -ECONNREFUSED);
	job_leave(&job);
	assert_true(serving_start(&serving));
	assert_serves();
}

TEST_WITH(what_is_no_socket_stays, setup, scratch_teardown)
{
	struct stat at;

	(void)!close(open("socket", O_CREAT | O_WRONLY, 0600));
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "is no socket"));
	assert_int_equal(stat("socket", &at), 0);
	assert_true(S_ISREG(at.st_mode));
}

static int connect_as_nobody(int go)
{
	struct job job;
	char byte;

	job_init(&job, 1);
	if (read(go, &byte, 1) != 1 || setgid(65534) != 0 || setuid(65534) != 0 ||
	    job_connect(&job, "socket") != 0)
		return 1;
	return recv(job.socket, &byte, 1, 0) == 0 ? 0 : 2;
}

/* It forks: before there are threads. */
TEST_FIRST(another_user_is_turned_away, setup, scratch_teardown)
{
	int go[2], status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (child == 0)
		_exit(connect_as_nobody(go[0]));
	assert_true(serving_start(&serving));
	assert_int_equal(chmod("socket", 0666), 0); /* whoever lets them in */
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	serving_wait(&serving, "of another user");
	close(go[0]);
	close(go[1]);
	assert_serves();
}

/* As on Linux 6.4, where a peer in a pid namespace beside ours has pid 0: there is no
 * SO_PEERPIDFD (77), and pidfd_open() refuses. */
static bool see_no_process(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 77, 1, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int serve_whom_it_cannot_see(void)
{
	struct job job;

	serving.config.audit = NULL;
	serving_job(&job, 16);
	if (!see_no_process() || !serving_start(&serving))
		return 1;
	if (job_join(&job, "socket") >= 0)
		return 2;
	serving_wait(&serving, "pid namespace");
	return serving_stop(&serving) == 0 ? 0 : 3;
}

/* It forks, too. */
TEST_FIRST(a_process_that_can_not_be_seen_is_refused_with_the_reason, setup,
	   scratch_teardown)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(serve_whom_it_cannot_see());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- opening ---- */

TEST_WITH(impossible_settings_are_named, setup, scratch_teardown)
{
	serving.config.window = 2;
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "window is 3 to"));
	serving.config.window = 0;
	serving.config.jobs = 65;
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "jobs are 1 to 64"));
	serving.config.jobs = 0;
	serving.config.settings = "world=2";
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "not sharded"));
	serving.config.settings = NULL;
	serving.config.audit = "missing/audit";
	assert_false(serving_start(&serving));
	assert_non_null(strstr(serving.err.message, "audit"));
	assert_int_equal(access("socket", F_OK), -1);
}

/* Of files, which are found sooner than a synthetic data set is made. */
TEST_WITH(running_out_of_memory_is_told, setup, scratch_teardown)
{
	char path[] = "/data/0.jpg";
	bool open = false;

	for (; path[6] < '0' + SERVING_BATCH; path[6]++)
		tree_put(scratch_path(), path, path);
	serving.loader.dataset = "data";
	for (unsigned nth = 1; !open; nth++) {
		nomem_at(nth);
		serving.err = (struct error){0};
		serving.config.loader = &serving.loader;
		serving.server = share_server_open(&serving.config, &serving.err);
		nomem_at(0);
		open = serving.server != NULL;
		if (!open)
			assert_int_not_equal(serving.err.code, 0);
	}
	share_server_close(serving.server);
	assert_int_equal(access("socket", F_OK), -1);
}
