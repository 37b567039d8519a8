/* bcast_share_test.c - a writer and its readers: threads, processes that stop or die. */
#include "tests/lib/check_ring.h"
#include "tests/lib/feeder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- threads ---- */

struct racer {
	struct check_reader job;
	uint32_t batch;
	uint64_t epochs;
	int result;
	bool contiguous;
	pthread_t thread;
};

static void *race(void *context)
{
	struct racer *racer = context;
	struct check_held held[2];
	uint64_t taken = 0;

	racer->contiguous = true;
	while (racer->job.epochs < racer->epochs) {
		int result = check_reader_take(&racer->job, racer->batch, check_hang_ns,
					       &held[taken % 2]);

		if (result != 1) {
			racer->result = result;
			return NULL;
		}
		racer->contiguous &= held[taken % 2].batch.data != NULL;
		/* one ahead: as a training loop that copies one while it uses another */
		if (taken++ > 0 &&
		    !check_reader_release(&racer->job, &held[taken % 2])) {
			racer->result = -EBADMSG;
			return NULL;
		}
	}
	bcast_reader_close(racer->job.reader); /* all that it held is given back */
	racer->job.reader = NULL;
	return NULL;
}

static void races(uint32_t samples, uint32_t places, uint64_t epochs)
{
	static const uint32_t sizes[] = {1, 5, 8, 13};
	struct check_writer writer = check_writer_of(places, samples);
	struct racer racers[4];
	uint64_t end = epochs * samples;
	uint32_t numbers[4];

	for (int i = 0; i < 4; i++) {
		racers[i] = (struct racer){.batch = sizes[i], .epochs = epochs};
		check_reader_join(&writer, &racers[i].job, 0);
		numbers[i] = racers[i].job.slot;
	}
	for (int i = 0; i < 4; i++)
		pthread_create(&racers[i].thread, NULL, race, &racers[i]);
	while (bcast_published(writer.ring) < end) {
		while (check_writer_begin(&writer, false))
			;
		if (writer.open > 0)
			check_writer_finish(&writer);
		else
			check_writer_wait(&writer, numbers, 4);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(racers[i].thread, NULL);
		assert_int_equal(racers[i].result, 0);
		assert_int_equal(racers[i].job.epochs, epochs);
		/* without bad samples every batch lies in a row */
		assert_true(racers[i].contiguous || samples > 3);
		check_reader_leave(&racers[i].job);
	}
	bcast_close(writer.ring);
}

TEST(threads_of_all_batch_sizes_get_each_sample_once_an_epoch)
{
	races(100, 64, 300); /* the data set is longer than the memory */
	races(3, 64, 2000);  /* and shorter */
	races(61, 200, 300); /* and of no multiple of anything */
}

/* ---- processes ---- */

struct child {
	pid_t pid;
	int told, go; /* pipes */
	struct check_reader job;
};

static char heard(int pipe)
{
	char byte = 0;

	while (read(pipe, &byte, 1) < 0 && errno == EINTR)
		;
	return byte;
}

/* Takes a batch, says so, and when it may go on looks whether it changed; then takes
 * another one. Says the result: 'k' as it should be. */
static void hold(struct child *child, int told, int go)
{
	struct check_held held, more;
	int result = check_reader_take(&child->job, 5, check_hang_ns, &held);
	char say = 'k';

	(void)!write(told, "h", 1);
	heard(go);
	if (result != 1 || !check_reader_unchanged(&child->job, &held))
		say = 'c';
	else if (check_reader_take(&child->job, 5, 0, &more) != -ENOLINK)
		say = 'l';
	else if (!check_reader_release(&child->job, &held))
		say = 'r';
	(void)!write(told, &say, 1);
	heard(go);
	_exit(0);
}

static void start(struct check_writer *writer, struct child *child)
{
	uint64_t begin = bcast_published(writer->ring);
	int told[2], go[2];

	assert_true(pipe(told) == 0 && pipe(go) == 0);
	check_reader_join(writer, &child->job, begin);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(go[1]); /* or it would never see its end */
		check_reader_open(writer, &child->job, begin);
		hold(child, told[1], go[0]);
	}
	close(told[1]);
	close(go[0]);
	child->told = told[0];
	child->go = go[1];
}

static void finish(struct child *child)
{
	int status;

	close(child->told);
	close(child->go);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	/* the parent's copy of what the child had: its page was the child's to write */
	free(child->job.seen);
}

/* Epochs of a job in this process, with the writer at work between its takes. */
static void go_on(struct check_writer *writer, struct check_reader *job,
		  uint64_t epochs)
{
	uint64_t end = job->epochs + epochs;

	while (job->epochs < end) {
		struct check_held held;
		int result;

		while (check_writer_begin(writer, false))
			;
		if (writer->open > 0)
			check_writer_finish(writer);
		result = check_reader_take(job, 7, 0, &held);
		assert_true(result == 1 || result == -EAGAIN);
		assert_true(result != 1 || check_reader_release(job, &held));
	}
}

TEST(a_stopped_process_that_is_dropped_finds_its_data_unchanged)
{
	struct check_writer writer = check_writer_of(64, 40);
	struct child child;
	struct check_reader job;

	check_reader_join(&writer, &job, 0);
	start(&writer, &child);
	while (check_writer_begin(&writer, false))
		;
	check_writer_finish(&writer);
	assert_int_equal(heard(child.told), 'h');
	kill(child.pid, SIGSTOP);
	bcast_drop(writer.ring, child.job.slot);
	go_on(&writer, &job, 50);
	assert_int_equal(feeder_gaps(writer.ring), 5);
	kill(child.pid, SIGCONT);
	(void)!write(child.go, "g", 1);
	assert_int_equal(heard(child.told), 'k');
	go_on(&writer, &job, 10);
	assert_int_equal(feeder_gaps(writer.ring), 0);
	finish(&child);
	bcast_detach(writer.ring, child.job.slot);
	bcast_reader_close(child.job.reader);
	check_reader_leave(&job);
	bcast_close(writer.ring);
}

TEST(a_killed_process_holds_nothing)
{
	struct check_writer writer = check_writer_of(64, 40);
	struct child child;
	struct check_reader job;
	struct check_held held;

	check_reader_join(&writer, &job, 0);
	start(&writer, &child);
	while (check_writer_begin(&writer, false))
		;
	while (writer.open > 0)
		check_writer_finish(&writer);
	assert_int_equal(heard(child.told), 'h');
	while (check_writer_begin(&writer, false))
		check_writer_finish(&writer);
	while (check_reader_take(&job, 8, 0, &held) == 1)
		assert_true(check_reader_release(&job, &held));
	assert_false(check_writer_begin(&writer, false)); /* the child is in the way */
	kill(child.pid, SIGKILL);
	finish(&child);
	bcast_detach(writer.ring, child.job.slot);
	go_on(&writer, &job, 20);
	assert_int_equal(feeder_gaps(writer.ring), 0);
	bcast_reader_close(child.job.reader);
	check_reader_leave(&job);
	bcast_close(writer.ring);
}
