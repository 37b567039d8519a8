/* One writer and many readers of the ring: threads, processes, random schedules. A writer
 * that behaves as the pipeline does gives out the samples 0 .. N-1 in order, over and
 * over; some can't be read. */
#include "loader/base/random.h"
#include "loader/share/ring/bcast_ring.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

enum {
	WORDS = 32,
	BYTES = WORDS * sizeof(uint32_t),
	BATCH = 8,
	SLOTS = 4,
	MOST = 64, /* samples of a reader's batch */
	HANG = 20, /* seconds after which nobody comes any more */
	BAD_EVERY = 17,
};

static const uint64_t hang_ns = HANG * UINT64_C(1000000000);

static bool bad(uint32_t sample)
{
	return sample % BAD_EVERY == 3;
}

static void fill(uint32_t *words, uint32_t sample, uint32_t stamp)
{
	words[0] = sample;
	words[1] = stamp;
	for (uint32_t w = 2; w < WORDS; w++)
		words[w] = (uint32_t)random_seed(sample, stamp, w);
}

/* Whether these are one sample's words, all of them. */
static bool whole(const uint32_t *words, uint32_t sample)
{
	if (words[0] != sample)
		return false;
	for (uint32_t w = 2; w < WORDS; w++)
		if (words[w] != (uint32_t)random_seed(sample, words[1], w))
			return false;
	return true;
}

/* ---- the writer ---- */

struct piece {
	uint32_t position, count;
	bool thrown;
};

struct writer {
	struct bcast_ring *ring;
	uint32_t samples;     /* N */
	uint32_t next, shown; /* positions */
	uint32_t stamp;
	uint32_t fifo[SLOTS], open;
	struct piece pieces[SLOTS];
	struct bcast_handles readers[BCAST_READERS];
};

static struct bcast_ring *open_ring(uint32_t places)
{
	const struct bcast_config config = {
		.places = places,
		.slots = SLOTS,
		.batch = BATCH,
		.sample_bytes = BYTES,
	};

	return bcast_open(&config, NULL);
}

static uint32_t free_slot(const struct writer *writer)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		bool used = false;

		for (uint32_t i = 0; i < writer->open; i++)
			used |= writer->fifo[i] == slot;
		if (!used)
			return slot;
	}
	return SLOTS;
}

static bool begin_batch(struct writer *writer, bool thrown)
{
	struct batch_sink *sink = bcast_sink(writer->ring);
	uint32_t slot = free_slot(writer), left = writer->samples - writer->next;
	uint32_t count = left < BATCH ? left : BATCH;

	if (slot == SLOTS || !sink->ops->reserve(sink, slot, count, thrown))
		return false;
	writer->pieces[slot] = (struct piece){writer->next, count, thrown};
	writer->fifo[writer->open++] = slot;
	if (!thrown)
		writer->next = (writer->next + count) % writer->samples;
	return true;
}

static void pop(struct writer *writer)
{
	writer->open--;
	memmove(writer->fifo, writer->fifo + 1, writer->open * sizeof(*writer->fifo));
}

/* Samples that can be read come first, as the pipeline has it. */
static void finish_batch(struct writer *writer)
{
	struct batch_sink *sink = bcast_sink(writer->ring);
	uint32_t slot = writer->fifo[0], good = 0;
	const struct piece *piece = &writer->pieces[slot];
	struct batch_sink_batch batch = {.count = piece->count};
	struct batch_sink_sample list[BATCH];
	uint32_t hole = piece->count;

	for (uint32_t i = 0; i < piece->count; i++) {
		uint32_t sample = piece->position + i;
		uint32_t at = bad(sample) ? --hole : good++;

		list[at] = (struct batch_sink_sample){sample, sample, UINT64_MAX,
						      bad(sample)};
		if (!bad(sample))
			fill(sink->ops->sample(sink, slot, at), sample,
			     ++writer->stamp);
	}
	batch.good = good;
	pop(writer);
	if (piece->thrown) {
		sink->ops->discard(sink, slot);
		return;
	}
	sink->ops->publish(sink, slot, &batch, list);
	writer->shown = (piece->position + piece->count) % writer->samples;
}

static void rewind_all(struct writer *writer)
{
	struct batch_sink *sink = bcast_sink(writer->ring);

	sink->ops->rewind(sink);
	writer->open = 0;
	writer->next = writer->shown;
}

static void wait_for_room(struct writer *writer, const uint32_t *numbers,
			  unsigned count)
{
	struct pollfd events[BCAST_READERS];
	uint64_t value;

	for (unsigned i = 0; i < count; i++)
		events[i] = (struct pollfd){.fd = writer->readers[numbers[i]].event,
					    .events = POLLIN};
	assert_true(poll(events, count, HANG * 1000) > 0); /* a wake-up got lost */
	for (unsigned i = 0; i < count; i++)
		if (events[i].revents & POLLIN)
			(void)!read(events[i].fd, &value, sizeof(value));
}

/* ---- readers ---- */

struct job {
	struct bcast_reader *reader;
	uint32_t slot, samples;
	uint8_t *seen;
	uint64_t epochs;
	uint32_t last_stamp;
};

static void sit(struct writer *writer, struct job *job, uint64_t start)
{
	struct bcast_handles slot;
	int number = bcast_attach(writer->ring, start, &slot, NULL);
	struct bcast_reader_config config = {
		.start = start,
		.epoch_places = writer->samples,
		.remaining = writer->samples,
	};

	assert_true(number >= 0);
	config.memory = dup(bcast_fd(writer->ring));
	config.page = dup(slot.page);
	config.event = dup(slot.event);
	config.slot = (uint32_t)number;
	writer->readers[number] = slot;
	*job = (struct job){.slot = (uint32_t)number, .samples = writer->samples};
	job->seen = calloc(writer->samples, 1);
	job->reader = bcast_reader_open(&config, NULL);
	assert_true(job->reader != NULL && job->seen != NULL);
}

static void job_leave(struct job *job)
{
	bcast_reader_close(job->reader);
	free(job->seen);
	job->reader = NULL;
	job->seen = NULL;
}

/* What a job has of a batch, and its bytes when it got it. */
struct held {
	struct bcast_batch batch;
	uint64_t hash;
};

static uint64_t hash_of(const struct job *job, const struct bcast_batch *batch,
			const uint32_t *samples)
{
	static _Thread_local uint32_t copy[MOST * WORDS];
	const uint32_t *words = batch->data;

	if (words == NULL) {
		bcast_copy(job->reader, batch, copy);
		words = copy;
	}
	for (uint32_t i = 0; samples != NULL && i < batch->count; i++)
		if (!whole(words + (size_t)i * WORDS, samples[i]))
			return 0;
	return XXH3_64bits(words, (size_t)batch->count * BYTES);
}

/* Once each in an epoch, but those that can't be read. */
static bool epoch_is_whole(struct job *job)
{
	bool is = true;

	for (uint32_t sample = 0; sample < job->samples; sample++) {
		is &= job->seen[sample] == !bad(sample);
		job->seen[sample] = 0;
	}
	job->epochs++;
	return is;
}

/* 1, -EAGAIN and so on; -EILSEQ: what came is wrong. */
static int job_take(struct job *job, uint32_t count, uint64_t wait, struct held *held)
{
	uint32_t labels[MOST], samples[MOST];
	int result = bcast_take(job->reader, count, wait, &held->batch, labels, samples,
				NULL);

	if (result != 1)
		return result;
	held->hash = hash_of(job, &held->batch, samples);
	if (held->hash == 0)
		return -EILSEQ;
	for (uint32_t i = 0; i < held->batch.count && !held->batch.repeated; i++)
		if (job->seen[samples[i]]++ > 0)
			return -EILSEQ;
	if (held->batch.epoch_ends && !epoch_is_whole(job))
		return -EILSEQ;
	return 1;
}

static bool job_release(struct job *job, const struct held *held)
{
	return hash_of(job, &held->batch, NULL) == held->hash &&
	       bcast_release(job->reader, &held->batch) == 0;
}

/* ---- threads ---- */

struct racer {
	struct job job;
	uint32_t batch;
	uint64_t epochs;
	int result;
	bool contiguous;
	pthread_t thread;
};

static void *race(void *context)
{
	struct racer *racer = context;
	struct held held[2];
	uint64_t taken = 0;

	racer->contiguous = true;
	while (racer->job.epochs < racer->epochs) {
		int result =
			job_take(&racer->job, racer->batch, hang_ns, &held[taken % 2]);

		if (result != 1) {
			racer->result = result;
			return NULL;
		}
		racer->contiguous &= held[taken % 2].batch.data != NULL;
		/* one ahead: as a training loop that copies one while it uses another */
		if (taken++ > 0 && !job_release(&racer->job, &held[taken % 2])) {
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
	struct writer writer = {.ring = open_ring(places), .samples = samples};
	struct racer racers[4];
	uint64_t end = epochs * samples;
	uint32_t numbers[4];

	for (int i = 0; i < 4; i++) {
		racers[i] = (struct racer){.batch = sizes[i], .epochs = epochs};
		sit(&writer, &racers[i].job, 0);
		numbers[i] = racers[i].job.slot;
	}
	for (int i = 0; i < 4; i++)
		pthread_create(&racers[i].thread, NULL, race, &racers[i]);
	while (bcast_published(writer.ring) < end) {
		while (begin_batch(&writer, false))
			;
		if (writer.open > 0)
			finish_batch(&writer);
		else
			wait_for_room(&writer, numbers, 4);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(racers[i].thread, NULL);
		assert_int_equal(racers[i].result, 0);
		assert_int_equal(racers[i].job.epochs, epochs);
		/* without bad samples every batch lies in a row */
		assert_true(racers[i].contiguous || samples > 3);
		job_leave(&racers[i].job);
	}
	bcast_close(writer.ring);
}

static void threads_of_all_batch_sizes_get_each_sample_once_an_epoch(void **state)
{
	(void)state;
	races(100, 64, 300); /* the data set is longer than the memory */
	races(3, 64, 2000);  /* and shorter */
	races(61, 200, 300); /* and of no multiple of anything */
}

/* ---- processes ---- */

struct child {
	pid_t pid;
	int told, go; /* pipes */
	struct job job;
};

static char heard(int pipe)
{
	char byte = 0;

	while (read(pipe, &byte, 1) < 0 && errno == EINTR)
		;
	return byte;
}

/* Takes a batch, says so, and when it is allowed to go on looks whether it changed; then
 * takes another one. Says the result: 'k' as it should be. */
static void hold(struct child *child, int told, int go)
{
	struct held held, more;
	int result = job_take(&child->job, 5, hang_ns, &held);
	char say = 'k';

	(void)!write(told, "h", 1);
	heard(go);
	if (result != 1 || hash_of(&child->job, &held.batch, NULL) != held.hash)
		say = 'c';
	else if (job_take(&child->job, 5, 0, &more) != -ENOLINK)
		say = 'l';
	else if (!job_release(&child->job, &held))
		say = 'r';
	(void)!write(told, &say, 1);
	heard(go);
	_exit(0);
}

static void start(struct writer *writer, struct child *child)
{
	int told[2], go[2];

	assert_true(pipe(told) == 0 && pipe(go) == 0);
	sit(writer, &child->job, bcast_published(writer->ring));
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(go[1]); /* or it would never see its end */
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
static void go_on(struct writer *writer, struct job *job, uint64_t epochs)
{
	uint64_t end = job->epochs + epochs;

	while (job->epochs < end) {
		struct held held;
		int result;

		while (begin_batch(writer, false))
			;
		if (writer->open > 0)
			finish_batch(writer);
		result = job_take(job, 7, 0, &held);
		assert_true(result == 1 || result == -EAGAIN);
		assert_true(result != 1 || job_release(job, &held));
	}
}

static uint32_t islands(const struct bcast_ring *ring)
{
	uint64_t end = bcast_published(ring);
	uint32_t count = 0;

	for (uint64_t at = end - bcast_places(ring); at < end; at++)
		count += bcast_place(ring, at)->flags == BCAST_GAP;
	return count;
}

static void a_stopped_process_that_is_dropped_finds_its_data_unchanged(void **state)
{
	struct writer writer = {.ring = open_ring(64), .samples = 40};
	struct child child;
	struct job job;

	(void)state;
	sit(&writer, &job, 0);
	start(&writer, &child);
	while (begin_batch(&writer, false))
		;
	finish_batch(&writer);
	assert_int_equal(heard(child.told), 'h');
	kill(child.pid, SIGSTOP);
	bcast_drop(writer.ring, child.job.slot);
	go_on(&writer, &job, 50);
	assert_int_equal(islands(writer.ring), 5);
	kill(child.pid, SIGCONT);
	(void)!write(child.go, "g", 1);
	assert_int_equal(heard(child.told), 'k');
	go_on(&writer, &job, 10);
	assert_int_equal(islands(writer.ring), 0);
	finish(&child);
	bcast_detach(writer.ring, child.job.slot);
	bcast_reader_close(child.job.reader);
	job_leave(&job);
	bcast_close(writer.ring);
}

static void a_killed_process_holds_nothing(void **state)
{
	struct writer writer = {.ring = open_ring(64), .samples = 40};
	struct child child;
	struct job job;
	struct held held;

	(void)state;
	sit(&writer, &job, 0);
	start(&writer, &child);
	while (begin_batch(&writer, false))
		;
	while (writer.open > 0)
		finish_batch(&writer);
	assert_int_equal(heard(child.told), 'h');
	while (begin_batch(&writer, false))
		finish_batch(&writer);
	while (job_take(&job, 8, 0, &held) == 1)
		assert_true(job_release(&job, &held));
	assert_false(begin_batch(&writer, false)); /* the child is in the way */
	kill(child.pid, SIGKILL);
	finish(&child);
	bcast_detach(writer.ring, child.job.slot);
	go_on(&writer, &job, 20);
	assert_int_equal(islands(writer.ring), 0);
	bcast_reader_close(child.job.reader);
	job_leave(&job);
	bcast_close(writer.ring);
}

/* ---- random schedules ---- */

enum { JOBS = 5, HOLDS = 3, STEPS = 4000 };

struct player {
	struct job job;
	struct held held[HOLDS];
	unsigned holds;
	uint32_t batch;
	bool dropped;
};

struct game {
	struct random random;
	struct writer writer;
	struct player players[JOBS];
	uint64_t epochs, drops, thrown, repeats;
};

static void join_game(struct game *game, struct player *player)
{
	static const uint32_t sizes[] = {1, 3, 8, 11};

	/* with the batch that is begun next: epochs begin where batches do */
	*player = (struct player){.batch = sizes[random_below(&game->random, 4)]};
	sit(&game->writer, &player->job, bcast_reserved(game->writer.ring));
}

static void leave_game(struct game *game, struct player *player)
{
	bcast_detach(game->writer.ring, player->job.slot);
	game->epochs += player->job.epochs;
	job_leave(&player->job);
	*player = (struct player){0};
}

static void play_release(struct game *game, struct player *player)
{
	unsigned which = random_below(&game->random, player->holds);

	assert_true(job_release(&player->job, &player->held[which]));
	player->held[which] = player->held[--player->holds];
}

static void play_take(struct game *game, struct player *player)
{
	int result =
		job_take(&player->job, player->batch, 0, &player->held[player->holds]);

	(void)game;
	if (player->dropped)
		assert_int_equal(result, -ENOLINK);
	else
		assert_true(result == 1 || result == -EAGAIN);
	player->holds += result == 1;
}

static void play_job(struct game *game)
{
	struct player *player = &game->players[random_below(&game->random, JOBS)];
	uint32_t what = random_below(&game->random, 200);

	if (player->job.reader == NULL) {
		if (what < 40)
			join_game(game, player);
	} else if (what == 0) {
		leave_game(game, player);
	} else if (what == 1 && !player->dropped) {
		bcast_drop(game->writer.ring, player->job.slot);
		player->dropped = true;
		game->drops++;
	} else if (what < 100 && player->holds < HOLDS) {
		play_take(game, player);
	} else if (player->holds > 0) {
		play_release(game, player);
	}
}

/* Another turn: what is in flight goes back; then repeats or batches thrown away. */
static void play_turn(struct game *game)
{
	struct writer *writer = &game->writer;

	rewind_all(writer);
	if (random_below(&game->random, 2) == 0) {
		game->repeats +=
			bcast_repeat(writer->ring, random_below(&game->random, 30), 0);
		return;
	}
	for (uint32_t i = 0; i < 3 * SLOTS; i++) {
		bool began = begin_batch(writer, true);

		game->thrown += began;
		if (!began && writer->open > 0)
			finish_batch(writer);
	}
	rewind_all(writer);
}

static void play_writer(struct game *game)
{
	uint32_t what = random_below(&game->random, 100);

	if (what == 0)
		play_turn(game);
	else if (what < 50)
		begin_batch(&game->writer, false);
	else if (game->writer.open > 0)
		finish_batch(&game->writer);
}

static void play(uint64_t seed, struct game *total)
{
	static const uint32_t lengths[] = {5, 40, 64, 150};
	struct game game = {.random = {.state = seed}};

	game.writer.ring = open_ring(96);
	game.writer.samples = lengths[random_below(&game.random, 4)];
	for (int step = 0; step < STEPS; step++) {
		if (random_below(&game.random, 3) == 0)
			play_writer(&game);
		else
			play_job(&game);
	}
	for (int i = 0; i < JOBS; i++)
		if (game.players[i].job.reader != NULL)
			leave_game(&game, &game.players[i]);
	bcast_close(game.writer.ring);
	total->epochs += game.epochs;
	total->drops += game.drops;
	total->thrown += game.thrown;
	total->repeats += game.repeats;
}

static void random_schedules_deliver_each_sample_once_an_epoch(void **state)
{
	uint64_t games = getenv("SOAK") != NULL ? 20000 : 300;
	struct game total = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= games; seed++)
		play(seed, &total);
	assert_true(total.epochs > games && total.drops > games / 2 &&
		    total.thrown > games && total.repeats > games);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			threads_of_all_batch_sizes_get_each_sample_once_an_epoch),
		cmocka_unit_test(
			a_stopped_process_that_is_dropped_finds_its_data_unchanged),
		cmocka_unit_test(a_killed_process_holds_nothing),
		cmocka_unit_test(random_schedules_deliver_each_sample_once_an_epoch),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("feed_share", tests, NULL, NULL);
}
