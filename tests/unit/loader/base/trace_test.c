#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[TREE_PATH], path[TREE_PATH + 16];

static int new_folder(void **state)
{
	(void)state;
	tree_make(folder);
	snprintf(path, sizeof(path), "%s/session", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	tree_remove(folder);
	return 0;
}

static struct trace *create(void)
{
	struct error err = {0};
	struct trace *trace = trace_create(path, 42, &err);

	if (trace == NULL)
		fail_msg("%s", err.message);
	return trace;
}

TEST_WITH(what_one_writes_another_reads, new_folder, remove_folder)
{
	struct trace *trace = create(), *other;
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, sizeof(*trace));
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(status.st_blocks * 512 >= status.st_size); /* all its room */
	other = trace_map(path, true, NULL);
	assert_non_null(other);
	assert_int_equal(other->seed, 42);
	assert_int_equal(other->dsa_pid, getpid());
	trace->stop = 1;
	assert_int_equal(other->stop, 1);
	other->windows[3].samples = 7;
	assert_int_equal(trace->windows[3].samples, 7);
	trace_unmap(other);
	trace_unmap(trace);
}

TEST_WITH(dsa_is_alive_until_it_died, new_folder, remove_folder)
{
	struct trace *trace;
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(trace_create(path, 1, NULL) != NULL ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	trace = trace_map(path, false, NULL);
	assert_non_null(trace);
	assert_int_equal(trace_dsa_state(trace, NULL), TRACE_DSA_GONE);
	trace_unmap(trace);

	trace = create(); /* in place of the dead one's */
	assert_int_equal(trace_dsa_state(trace, NULL), TRACE_DSA_ALIVE);
	trace->dsa_start++; /* another process by the same number */
	assert_int_equal(trace_dsa_state(trace, NULL), TRACE_DSA_GONE);
	trace->dsa_pid_ns++; /* in another container */
	assert_int_equal(trace_dsa_state(trace, NULL), TRACE_DSA_UNSEEN);
	trace_unmap(trace);
}

static void overwrite(off_t at, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	close(fd);
}

static void assert_refused(int code, const char *why)
{
	struct error err = {0};

	assert_null(trace_map(path, false, &err));
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.message, why));
	assert_non_null(strstr(err.message, path));
}

TEST_WITH(what_is_no_session_is_refused, new_folder, remove_folder)
{
	const uint32_t later = TRACE_VERSION + 1;
	char said[32];

	assert_refused(ENOENT, "No such file");
	tree_put(folder, "/session", "");
	assert_refused(EBADMSG, "no dsa session");
	tree_put(folder, "/session",
		 "{\"schema\": \"dsa.result/1\", \"and\": \"more\"}");
	assert_refused(EBADMSG, "no dsa session");
	trace_unmap(create());
	overwrite(offsetof(struct trace, version), &later, sizeof(later));
	snprintf(said, sizeof(said), "has version %d", TRACE_VERSION + 1);
	assert_refused(EPROTO, said);
	trace_unmap(create());
	assert_int_equal(truncate(path, sizeof(struct trace) / 2), 0);
	assert_refused(EBADMSG, "cut short");
}

TEST_WITH(a_session_that_cannot_be_made_leaves_nothing, new_folder, remove_folder)
{
	struct error err = {0};

	assert_int_equal(mkdir(path, 0755), 0);
	assert_null(trace_create(path, 1, &err));
	assert_non_null(strstr(err.message, "cannot replace"));
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/no/session", folder);
	assert_null(trace_create(path, 1, &err));
	assert_int_equal(err.code, ENOENT);
}

TEST_WITH(a_session_may_lie_in_the_present_folder, new_folder, remove_folder)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);
	struct trace *trace;

	assert_int_equal(chdir(folder), 0);
	trace = trace_create("session", 1, NULL);
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_non_null(trace);
	trace_unmap(trace);
	assert_int_equal(access(path, F_OK), 0);
}

TEST_WITH(every_claim_has_a_slot_of_its_own, new_folder, remove_folder)
{
	struct trace *trace = create();

	for (unsigned i = 0; i < TRACE_PROCESSES; i++)
		assert_ptr_equal(trace_claim(trace, "", false), &trace->processes[i]);
	assert_null(trace_claim(trace, "", false));
	trace_unmap(trace);
}

TEST_WITH(slots_given_back_are_claimed_again, new_folder, remove_folder)
{
	struct trace *trace = create();
	struct trace_process *driver = trace_claim(trace, "", false);
	struct trace_process *other = trace_claim(trace, "", false);

	trace->driver = 1;
	driver->counters[0] = other->counters[0] = 7;
	trace_thread(other, TRACE_STAGE_PREP);
	trace_give_back(driver);
	trace_give_back(other);
	assert_ptr_equal(trace_claim(trace, "", false), other);
	assert_int_equal(other->counters[0], 7);
	assert_int_equal(other->threads[0].tid, 0);
	assert_ptr_equal(trace_claim(trace, "", false), &trace->processes[2]);
	assert_ptr_equal(trace_claim(trace, "", true), driver);
	trace_unmap(trace);
}

/* What was skipped of the one stays that one's. */
TEST_WITH(a_loader_of_other_data_has_a_slot_of_its_own, new_folder, remove_folder)
{
	struct trace *trace = create();
	struct trace_process *first = trace_claim(trace, "train", false), *other;

	first->counters[TRACE_skipped_samples] = 2;
	trace->skips[0].slot = 1;
	trace_give_back(first);
	other = trace_claim(trace, "test", false);
	assert_ptr_equal(other, &trace->processes[1]);
	trace_give_back(other);
	assert_ptr_equal(trace_claim(trace, "train", false), first);
	assert_int_equal(first->skipped_before, 0);
	assert_int_equal(trace->skips[0].slot, 1);
	trace_unmap(trace);
}

TEST_WITH(a_slot_of_another_process_is_claimed_last, new_folder, remove_folder)
{
	struct trace *trace = create();

	for (unsigned i = 0; i < TRACE_PROCESSES - 1; i++)
		trace_claim(trace, "", false)->pid = 1;
	trace_give_back(&trace->processes[3]);
	assert_ptr_equal(trace_claim(trace, "", false),
			 &trace->processes[TRACE_PROCESSES - 1]);
	assert_ptr_equal(trace_claim(trace, "", false), &trace->processes[3]);
	assert_int_equal(trace->processes[3].pid, getpid());
	trace_unmap(trace);
}

static void *enter(void *process)
{
	trace_thread(process, TRACE_STAGE_PREP);
	return NULL;
}

TEST_WITH(threads_enter_until_the_table_is_full, new_folder, remove_folder)
{
	enum { MORE = TRACE_THREADS + 8 };
	struct trace *trace = create();
	struct trace_process *process = trace_claim(trace, "", false);
	pthread_t threads[MORE];

	for (unsigned i = 0; i < MORE; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter, process), 0);
	for (unsigned i = 0; i < MORE; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < TRACE_THREADS; i++) {
		assert_int_not_equal(process->threads[i].tid, 0);
		assert_int_equal(process->threads[i].stage, TRACE_STAGE_PREP);
	}
	assert_int_equal(trace->processes[1].pid, 0);
	assert_int_equal(process->counters[0], 0); /* what lies behind is whole */
	trace_unmap(trace);
}

TEST(buckets_are_powers_of_two)
{
	assert_int_equal(trace_bucket(0), 0);
	assert_int_equal(trace_bucket(1), 0);
	assert_int_equal(trace_bucket(2), 1);
	assert_int_equal(trace_bucket(3), 1);
	assert_int_equal(trace_bucket(4), 2);
	assert_int_equal(trace_bucket(UINT64_MAX), TRACE_BUCKETS - 1);
}
