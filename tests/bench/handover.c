/*
 * handover.c - what it costs to hand prepared batches (64 x 3 x 224 x 224 float32, 38.5 MB)
 * to 1, 2, 4 and 8 processes: rate, CPU time, and time from published to taken. Once
 * as they are, and once with every byte read (XXH3-64). The batches repeat, so nothing but
 * the hand-over is measured: as fast as it goes, and then at a pace that leaves the
 * machine time (a batch each millisecond; with reading, ten for each consumer). CPU time
 * of the hand-over is without that of the checksums.
 *
 *	handover [SECONDS]
 */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/share/ring/bcast_ring.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	BATCH = 64,
	BATCHES = 8, /* in the ring */
	SAMPLE = 3 * 224 * 224 * 4,
	MOST = 8,        /* consumers */
	STAMPS = 64,     /* batches whose times are kept: more than can be behind */
	TIMES = 1 << 19, /* hand-overs that a consumer keeps the time of */
	PACE = 1000000,  /* ns */
	ROUNDS = 3,
};

struct result {
	uint64_t batches, copied;
	uint64_t cpu_ns, use_ns; /* in all, and of it for checksums */
	uint64_t checksum;
	uint64_t started, ended;
	uint32_t times; /* of hand-overs, ns */
	uint32_t ns[TIMES];
};

/* Shared between the processes of one run. */
struct board {
	_Atomic uint32_t ready, stop;
	_Atomic uint64_t published_at[STAMPS]; /* of batch number % STAMPS */
	struct result results[MOST];
};

struct run {
	unsigned consumers;
	bool touch, paced;
};

struct outcome {
	double per_s, consumer_us, writer_us, use_us, p50_us, p99_us;
	uint64_t copied;
};

static uint64_t cpu_of_process(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

/* ---- a consumer ---- */

static void use(const struct bcast_batch *batch, struct result *result)
{
	uint64_t cpu = clock_thread_cpu();

	result->checksum ^= XXH3_64bits(batch->data, (size_t)batch->count * SAMPLE);
	result->use_ns += clock_thread_cpu() - cpu;
}

static void note_time(struct result *result, uint64_t ns)
{
	if (result->times < TIMES)
		result->ns[result->times++] =
			ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void consume(struct bcast_reader *reader, const struct run *run,
		    struct board *board, struct result *result)
{
	uint32_t labels[BATCH], samples[BATCH];
	struct bcast_batch batch;
	uint64_t cpu;

	atomic_fetch_add(&board->ready, 1);
	/* the first one is late: everybody has yet to come */
	while (bcast_take(reader, BATCH, PACE, &batch, labels, samples, NULL) != 1)
		;
	bcast_release(reader, &batch);
	cpu = cpu_of_process();
	result->started = clock_now();
	while (!atomic_load_explicit(&board->stop, memory_order_relaxed)) {
		if (bcast_take(reader, BATCH, 100 * PACE, &batch, labels, samples,
			       NULL) != 1)
			continue;
		note_time(result,
			  clock_now() -
				  board->published_at[batch.first / BATCH % STAMPS]);
		result->copied += batch.data == NULL;
		if (run->touch && batch.data != NULL)
			use(&batch, result);
		result->batches++;
		bcast_release(reader, &batch);
	}
	result->ended = clock_now();
	result->cpu_ns = cpu_of_process() - cpu;
}

static pid_t start_consumer(struct bcast_ring *ring, const struct run *run,
			    struct board *board, unsigned number,
			    struct bcast_handles *slot)
{
	int got = bcast_attach(ring, bcast_published(ring), slot, NULL);
	pid_t child;

	if (got < 0)
		errx(1, "no slot");
	child = fork();
	if (child < 0)
		err(1, "cannot start a consumer");
	if (child == 0) {
		const struct bcast_reader_config config = {
			.memory = dup(bcast_fd(ring)),
			.page = dup(slot->page),
			.event = dup(slot->event),
			.slot = (uint32_t)got,
			.start = slot->start,
			.epoch_places = UINT64_MAX,
			.remaining = UINT64_MAX,
		};
		struct error error = {0};
		struct bcast_reader *reader = bcast_reader_open(&config, &error);

		if (reader == NULL)
			errx(1, "%s", error.message);
		consume(reader, run, board, &board->results[number]);
		_exit(0);
	}
	return child;
}

/* ---- the writer ---- */

static struct bcast_ring *open_feed(void)
{
	const struct bcast_config config = {
		.places = BATCHES * BATCH,
		.slots = 1,
		.batch = BATCH,
		.sample_bytes = SAMPLE,
	};
	struct error error = {0};
	struct bcast_ring *ring = bcast_open(&config, &error);
	struct batch_sink *sink;

	if (ring == NULL)
		errx(1, "%s", error.message);
	sink = bcast_sink(ring);
	while (sink->ops->reserve(sink, 0, BATCH, false)) {
		const struct batch_sink_batch batch = {.count = BATCH, .good = BATCH};
		struct batch_sink_sample samples[BATCH];

		for (uint32_t i = 0; i < BATCH; i++) {
			float *values = sink->ops->sample(sink, 0, i);

			for (uint32_t k = 0; k < SAMPLE / sizeof(*values); k++)
				values[k] = (float)(i * k);
			samples[i] =
				(struct batch_sink_sample){i, i, UINT64_MAX, false};
		}
		sink->ops->publish(sink, 0, &batch, samples);
	}
	return ring;
}

static void wait_for_room(const struct bcast_handles *readers, unsigned count)
{
	struct pollfd events[MOST];
	uint64_t value;

	for (unsigned i = 0; i < count; i++)
		events[i] = (struct pollfd){.fd = readers[i].event, .events = POLLIN};
	if (poll(events, count, 100) <= 0)
		return;
	for (unsigned i = 0; i < count; i++)
		if (events[i].revents & POLLIN)
			(void)!read(events[i].fd, &value, sizeof(value));
}

static void write_until(struct bcast_ring *ring, const struct run *run,
			struct board *board, const struct bcast_handles *readers,
			uint64_t end)
{
	uint64_t pace = run->touch ? 10 * run->consumers * PACE : PACE;
	uint64_t now = clock_now(), next = now;

	for (; now < end; now = clock_now()) {
		uint64_t batch = bcast_published(ring) / BATCH;

		if (run->paced)
			clock_sleep_until(next += pace);
		atomic_store_explicit(&board->published_at[batch % STAMPS], clock_now(),
				      memory_order_relaxed);
		if (bcast_repeat(ring, BATCH, 0) == 0)
			wait_for_room(readers, run->consumers);
	}
}

/* ---- figures ---- */

static int ascending(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static double quantile(const struct result *result, unsigned percent)
{
	uint64_t at = (uint64_t)result->times * percent / 100;

	return result->ns[at] * 1e-3;
}

/* The worst consumer's, of each figure. */
static void sum_up(struct board *board, const struct run *run, uint64_t writer_cpu,
		   struct outcome *outcome)
{
	uint64_t batches = 0;

	*outcome = (struct outcome){0};
	for (unsigned i = 0; i < run->consumers; i++) {
		struct result *result = &board->results[i];
		double count = (double)result->batches;
		double rate = count * 1e9 / (double)(result->ended - result->started);
		double used = (double)result->use_ns * 1e-3 / count;
		double cpu = (double)result->cpu_ns * 1e-3 / count - used;
		double p50, p99;

		qsort(result->ns, result->times, sizeof(*result->ns), ascending);
		p50 = quantile(result, 50);
		p99 = quantile(result, 99);
		if (i == 0 || rate < outcome->per_s)
			outcome->per_s = rate;
		outcome->consumer_us =
			cpu > outcome->consumer_us ? cpu : outcome->consumer_us;
		outcome->use_us = used > outcome->use_us ? used : outcome->use_us;
		outcome->p50_us = p50 > outcome->p50_us ? p50 : outcome->p50_us;
		outcome->p99_us = p99 > outcome->p99_us ? p99 : outcome->p99_us;
		outcome->copied += result->copied;
		batches += result->batches;
	}
	outcome->writer_us = (double)writer_cpu * 1e-3 / (double)batches;
}

static void measure(struct bcast_ring *ring, const struct run *run, double seconds,
		    struct outcome *outcome)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bcast_handles readers[MOST];
	uint64_t cpu;

	if (board == MAP_FAILED)
		err(1, "cannot map %zu bytes", sizeof(*board));
	for (unsigned i = 0; i < run->consumers; i++)
		start_consumer(ring, run, board, i, &readers[i]);
	while (atomic_load(&board->ready) < run->consumers)
		usleep(1000);
	cpu = cpu_of_process();
	write_until(ring, run, board, readers, clock_now() + (uint64_t)(seconds * 1e9));
	cpu = cpu_of_process() - cpu;
	atomic_store(&board->stop, 1);
	for (unsigned i = 0; i < run->consumers; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			errx(1, "a consumer failed");
	}
	for (uint32_t i = 0; i < run->consumers; i++)
		bcast_detach(ring, i);
	sum_up(board, run, cpu, outcome);
	munmap(board, sizeof(*board));
}

/* The round with the median rate. */
static int by_rate(const void *a, const void *b)
{
	double left = ((const struct outcome *)a)->per_s;
	double right = ((const struct outcome *)b)->per_s;

	return (left > right) - (left < right);
}

static void print_row(const struct run *run, const struct outcome *fast,
		      const struct outcome *paced)
{
	unsigned long long copied = fast->copied + paced->copied;

	printf("%9u  %-4s  %9.0f  %8.2f %8.2f %8.0f  %7.0f %7.0f  %7.0f %7.0f  %6llu\n",
	       run->consumers, run->touch ? "read" : "-", fast->per_s,
	       fast->consumer_us, fast->writer_us, fast->use_us, fast->p50_us,
	       fast->p99_us, paced->p50_us, paced->p99_us, copied);
}

int main(int argc, char **argv)
{
	static const unsigned counts[] = {1, 2, 4, 8};
	struct outcome fast[8][ROUNDS], paced[8][ROUNDS];
	struct bcast_ring *ring;
	double seconds = 0.5;

	if (argc > 1 && !number_real(argv[1], &seconds))
		errx(2, "'%s' is no number of seconds", argv[1]);
	ring = open_feed();
	for (int round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < 8; i++) {
			struct run run = {counts[i % 4], i >= 4, false};

			measure(ring, &run, seconds, &fast[i][round]);
			run.paced = true;
			measure(ring, &run, seconds, &paced[i][round]);
		}
	puts("                 batches/s  us of CPU, a batch and consumer   published "
	     "to "
	     "taken, us\n"
	     "consumers  bytes  consumer  consumer   writer checksum  full speed p50/99"
	     "    paced p50/99  copied");
	for (unsigned i = 0; i < 8; i++) {
		const struct run run = {counts[i % 4], i >= 4, false};

		qsort(fast[i], ROUNDS, sizeof(fast[i][0]), by_rate);
		qsort(paced[i], ROUNDS, sizeof(paced[i][0]), by_rate);
		print_row(&run, &fast[i][ROUNDS / 2], &paced[i][ROUNDS / 2]);
	}
	bcast_close(ring);
	return 0;
}
