/*
 * nccl_host.c - plays NCCL for the ranks of a program, each a process of its own.
 *
 *	nccl_host [-4] [-f] COLLECTIVES MS...
 *
 * Rank r comes to each collective the r-th MS after all began; it takes 2 ms once all are
 * there. These are the times that are told, however late a busy machine wakes a rank, by a
 * timer of each rank's own, two channels a collective, some time after they ended: to the
 * profiler that NCCL_PROFILER_PLUGIN names, if any, as NCCL 2.28 to 2.30 do of what graphs
 * repeat (ncclProfiler_v5; with -4 _v4, as 2.27 does). Other communicators come and go before
 * that, one after another. Rank 0 takes a batch of libdsa each time; with -f it forks, and the child
 * tells as well.
 */
#include "loader/loader.h"
#include "profiler/nccl/nccl_api.h"

#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 16, CHANNELS = 2, OTHERS = 200, COULD_NOT = 3 };
enum { TRANSFER_NS = 2000000, LOOKS_NS = 300000 };
static const uint64_t communicator = UINT64_C(0xfedcba9876543210);

/* What ranks share. */
static struct meeting {
	pthread_barrier_t go;
	uint64_t begun_ns; /* of the step, by rank 0 */
} * meeting;

struct rank {
	int number, count;
	uint64_t comes_ns, last_ns; /* after the begin; the last of all */
	void *context;
	const struct nccl_profiler_v5 *profiler; /* NULL: none */
	bool fourth;
	int events;
	uint64_t numbers[2];       /* of each function the next one's */
	struct dsa_loader *loader; /* of rank 0 */
};

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Hours apart, one of them before the host's. */
static uint64_t device_ns(const struct rank *rank, uint64_t time_ns)
{
	return time_ns + (uint64_t)(rank->number - 1) * UINT64_C(3600000000000);
}

static void sleep_until(uint64_t time_ns)
{
	const struct timespec time = {(time_t)(time_ns / 1000000000),
				      (long)(time_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* ---- the profiler ---- */

/* v4 and v5 differ in it alone. The mask of events is one, whatever the communicator. */
static void rank_join(struct rank *rank, const struct nccl_profiler_v4 *old,
		      uint64_t number, void **context)
{
	if (rank->fourth)
		old->init(context, &rank->events, NULL, number, 1, rank->count,
			  rank->number, NULL);
	else
		rank->profiler->init(context, number, &rank->events, NULL, 1,
				     rank->count, rank->number, NULL);
}

static void rank_find_profiler(struct rank *rank)
{
	const char *path = getenv("NCCL_PROFILER_PLUGIN");
	void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct nccl_profiler_v4 *old;

	if (path == NULL)
		return;
	if (library == NULL)
		errx(COULD_NOT, "%s", dlerror());
	old = dlsym(library, "ncclProfiler_v4");
	rank->profiler = dlsym(library, "ncclProfiler_v5");
	if (old == NULL || rank->profiler == NULL)
		errx(COULD_NOT, "%s", dlerror());
	rank_join(rank, old, communicator, &rank->context);
	for (uint64_t i = 1; i <= OTHERS; i++) {
		void *other;

		rank_join(rank, old, communicator + i, &other);
		rank->profiler->finalize(other);
	}
}

static void put(char *descriptor, size_t at, const void *what, size_t size)
{
	memcpy(descriptor + at, what, size);
}

static void *rank_tell_begin(const struct rank *rank, uint64_t type, const void *parent,
			     uint64_t number_or_none, const void *at_32)
{
	char descriptor[112] = {0};
	void *event = NULL;

	put(descriptor, NCCL_AT_TYPE, &type, sizeof(type));
	put(descriptor, NCCL_AT_PARENT, &parent, sizeof(parent));
	put(descriptor, NCCL_AT_NUMBER, &number_or_none, sizeof(number_or_none));
	put(descriptor, NCCL_AT_FUNCTION, at_32, sizeof(uint64_t));
	if ((rank->events & (int)type) != 0 || type >= 256 || type == NCCL_GROUP)
		rank->profiler->start(rank->context, &event, descriptor);
	return event;
}

/* In its group: without a name of that none is told (2.27), or it has the number of the one
 * before (2.28 on). */
static void *rank_tell_collective(struct rank *rank, uint64_t number)
{
	const char *function = number % 2 == 0 ? "AllReduce" : "ReduceScatter";
	void *group = rank_tell_begin(rank, NCCL_GROUP, NULL, 0, &function),
	     *collective;

	rank_tell_begin(rank, 1 << 9, NULL, 0, &function); /* of no interest */
	if (rank->fourth && group == NULL)
		return NULL;
	collective = rank_tell_begin(rank, NCCL_COLLECTIVE, NULL,
				     rank->numbers[number % 2], &function);
	rank->numbers[number % 2] += group != NULL;
	rank->profiler->stop(collective);
	rank->profiler->stop(group);
	return collective;
}

static void rank_tell_channel(const struct rank *rank, const void *collective,
			      uint64_t channel, uint64_t start_ns, uint64_t stop_ns)
{
	uint64_t begin = start_ns + 1000 * channel;
	void *event = rank_tell_begin(rank, NCCL_CHANNEL, collective, channel, &begin);

	rank->profiler->state(event, NCCL_CHANNEL_STOP, &stop_ns);
	rank->profiler->stop(event);
}

/* ---- steps ---- */

static void rank_step(struct rank *rank, uint64_t number)
{
	void *collective = NULL;
	uint64_t end_ns;

	if (rank->profiler != NULL)
		collective = rank_tell_collective(rank, number);
	if (rank->number == 0)
		meeting->begun_ns = host_ns();
	pthread_barrier_wait(&meeting->go);
	end_ns = meeting->begun_ns + rank->last_ns + TRANSFER_NS;
	/* NCCL's thread looks now and then */
	sleep_until(end_ns + (number % 3 == 0 ? 0 : LOOKS_NS));
	for (uint64_t i = 0; rank->profiler != NULL && i < CHANNELS; i++)
		rank_tell_channel(rank, collective, i,
				  device_ns(rank, meeting->begun_ns + rank->comes_ns),
				  device_ns(rank, end_ns));
	pthread_barrier_wait(&meeting->go); /* before the next one begins */
}

static void rank_take_batch(const struct rank *rank)
{
	struct dsa_batch batch;

	if (dsa_next(rank->loader, &batch) < 0)
		errx(COULD_NOT, "%s", dsa_why(rank->loader));
	dsa_release(rank->loader, &batch);
}

/* Another process must not tell what this one's ranks did. */
static void rank_fork(const struct rank *rank)
{
	pid_t child = fork();

	if (child == 0) {
		const char *function = "AllReduce";
		void *event =
			rank_tell_begin(rank, NCCL_COLLECTIVE, NULL, 0, &function);

		rank_tell_channel(rank, event, 0, 1, 2);
		_exit(event != NULL);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void rank_run(struct rank *rank, unsigned long collectives, bool forks)
{
	const struct dsa_config config = {
		.dataset = "synthetic", .batch = 4, .size = 16};
	char why[DSA_WHY];

	rank_find_profiler(rank);
	if (rank->number == 0 && dsa_open(&config, &rank->loader, why) < 0)
		errx(COULD_NOT, "%s", why);
	for (unsigned long i = 0; i < collectives; i++) {
		if (rank->loader != NULL)
			rank_take_batch(rank);
		rank_step(rank, i);
		if (forks && i == 0 && rank->number == 0 && rank->profiler != NULL)
			rank_fork(rank);
	}
	if (rank->profiler != NULL)
		rank->profiler->finalize(rank->context);
	dsa_close(rank->loader);
}

static void meet(unsigned count)
{
	pthread_barrierattr_t shared;

	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		err(COULD_NOT, "mmap");
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->go, &shared, count);
}

/* The others are processes of their own. Returns which this is. */
static int spread(int count)
{
	for (int i = 1; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(COULD_NOT, "fork");
		if (pid == 0)
			return i;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool forks = false;
	struct rank rank = {0};
	unsigned long collectives;
	int key;

	while ((key = getopt(argc, argv, "4f")) != -1) {
		rank.fourth |= key == '4';
		forks |= key == 'f';
	}
	rank.count = argc - optind - 1;
	if (rank.count < 2 || rank.count > RANKS)
		errx(2, "usage: nccl_host [-4] [-f] COLLECTIVES MS...");
	collectives = strtoul(argv[optind], NULL, 10);
	meet((unsigned)rank.count);
	rank.number = spread(rank.count);
	for (int i = 0; i < rank.count; i++) {
		uint64_t comes_ns = (uint64_t)(1e6 * atof(argv[optind + 1 + i]));

		if (i == rank.number)
			rank.comes_ns = comes_ns;
		if (comes_ns > rank.last_ns)
			rank.last_ns = comes_ns;
	}
	rank_run(&rank, collectives, forks);
	while (rank.number == 0 && wait(NULL) > 0)
		;
	return 0;
}
