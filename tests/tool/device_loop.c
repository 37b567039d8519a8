/*
 * device_loop.c - a training program on a device that is played: DATASET KEY=VALUE...
 *
 *	kernel=MS copy=MS   that the device takes for a batch (5, 0)
 *	late=MS             that the host takes before it launches anything (0)
 *	steps=N             then it ends; 0: with the data (0)
 *	mark=FILE           made after 20 steps
 *	pause=MS            once, after 20 steps, in which the device computes (0)
 *	end=HOW             exit, _exit, kill (SIGKILL), fork: a child exits, too
 *
 * It opens CUDA_INJECTION64_PATH as the driver does when it is initialised, and tells
 * the fake CUPTI (tests/tool/fake_cupti.h) what the device did. It waits for each
 * batch. Prints how many steps it made; status 7.
 */
#include "loader/base/clock.h"
#include "loader/loader.h"
#include "tests/tool/fake_cupti.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1e6

enum { STATUS = 7, MARKED = 20 };

struct loop {
	const char *dataset, *end, *mark;
	double kernel, copy, late, pause; /* ms */
	uint64_t steps;
	void (*record)(
		const struct fake_cupti_record *record); /* NULL: nobody watches */
};

static void parse(struct loop *loop, char **words)
{
	for (; *words != NULL; words++) {
		const char *value = strchr(*words, '=');

		if (value == NULL)
			loop->dataset = *words;
		else if (strncmp(*words, "kernel", 6) == 0)
			loop->kernel = atof(value + 1);
		else if (strncmp(*words, "copy", 4) == 0)
			loop->copy = atof(value + 1);
		else if (strncmp(*words, "late", 4) == 0)
			loop->late = atof(value + 1);
		else if (strncmp(*words, "pause", 5) == 0)
			loop->pause = atof(value + 1);
		else if (strncmp(*words, "steps", 5) == 0)
			loop->steps = strtoull(value + 1, NULL, 10);
		else if (strncmp(*words, "mark", 4) == 0)
			loop->mark = value + 1;
		else
			loop->end = value + 1;
	}
}

static void *symbol(void *library, const char *name, void *function)
{
	void *found = library != NULL ? dlsym(library, name) : NULL;

	memcpy(function, &found, sizeof(found));
	return found;
}

/* As cuInit() does. */
static void inject(struct loop *loop)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
					    "libcupti.so.11.8"};
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialise)(void);

	if (path == NULL ||
	    symbol(dlopen(path, RTLD_NOW), "InitializeInjection", &initialise) == NULL)
		return;
	initialise();
	for (size_t i = 0; i < 3 && loop->record == NULL; i++)
		symbol(dlopen(names[i], RTLD_NOW | RTLD_NOLOAD), "fake_cupti_record",
		       &loop->record);
}

/* The device does it from `start` on; returns when it is done. */
static uint64_t work(const struct loop *loop, uint32_t kind, uint64_t start, double ms)
{
	const struct fake_cupti_record record = {
		.kind = kind,
		.copy_kind = 1,
		.start_ns = start,
		.end_ns = start + (uint64_t)(ms * MS),
		.name = "train",
	};

	clock_sleep_until(record.end_ns);
	if (ms > 0 && loop->record != NULL)
		loop->record(&record);
	return record.end_ns;
}

static void step(const struct loop *loop)
{
	uint64_t now = clock_now();

	now += (uint64_t)(loop->late * MS);
	now = work(loop, 1, now, loop->copy);
	work(loop, 10, now, loop->kernel);
}

/* By a door of its own choice. */
static void leave(const struct loop *loop)
{
	fflush(stdout);
	if (strcmp(loop->end, "_exit") == 0)
		_exit(STATUS);
	if (strcmp(loop->end, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(loop->end, "fork") == 0) {
		pid_t child = fork();

		if (child == 0)
			exit(0); /* with all that is done at exit */
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	struct loop loop = {.kernel = 5, .end = "exit"};
	struct dsa_config config = {.batch = 8, .size = 32};
	struct dsa_loader *loader;
	struct dsa_batch batch;
	char why[DSA_WHY];
	uint64_t steps = 0;

	(void)argc;
	parse(&loop, argv + 1);
	config.dataset = loop.dataset;
	inject(&loop);
	if (dsa_open(&config, &loader, why) < 0) {
		fprintf(stderr, "device_loop: %s\n", why);
		return 3;
	}
	while ((loop.steps == 0 || steps < loop.steps) &&
	       dsa_next(loader, &batch) > 0) {
		step(&loop);
		dsa_release(loader, &batch);
		if (++steps != MARKED)
			continue;
		if (loop.mark != NULL)
			close(creat(loop.mark, 0600));
		work(&loop, 10, clock_now(), loop.pause);
	}
	printf("%llu steps\n", (unsigned long long)steps);
	if (strcmp(loop.end, "exit") == 0)
		dsa_close(loader);
	leave(&loop);
	return STATUS;
}
