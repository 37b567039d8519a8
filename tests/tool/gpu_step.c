/*
 * gpu_step.c - trains nothing on a GPU: a kernel of so many milliseconds a batch of libdsa.
 *
 *	gpu_step [-d] [-b BATCH] [-s SIZE] [-w MS | -r ROUNDS] [-a AHEAD] [-n STEPS]
 *		 [-o FILE] [-c] DATASET
 *
 * Copies batches to the device itself; with -d they arrive there (dsa_next_device()). BATCH
 * pictures of SIZE x SIZE [32, 64] as float32; a kernel of MS [5], or of ROUNDS of its
 * work, which take no other time because somebody watches; AHEAD batches are launched
 * before the first of them is waited for [1: each step waits for its kernel]. It ends after
 * STEPS, or with the data; with -c it looks whether the last kernel had the last batch. FILE
 * gets, as JSON, the rounds, and what a step takes whose batch is there: a mean over steps before training,
 * each waited for; without -d with the copy. It ends with what a step took, and, of STEPS, by
 * how much its memory grew after a third of them.
 */
#include "loader/loader.h"
#include "tests/lib/gpu_work.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COULD_NOT = 3 }; /* exit status */
enum { ALONE = 40 };    /* steps timed */

struct options {
	struct dsa_config config;
	double work_ms;
	uint64_t rounds; /* 0: those of work_ms */
	unsigned ahead;
	unsigned long steps;
	const char *output;
	bool check;
};

/* Of a step whose kernel may not have ended. */
struct room {
	void *host; /* the batch, pinned: the loader's memory goes back at once */
	cuda_address device;
	cuda_event done;
};

struct program {
	const struct options *options;
	struct gpu_calls gpu;
	struct gpu_work work;
	cuda_stream stream;
	struct dsa_loader *loader;
	struct room *rooms;
	size_t bytes;        /* of a batch */
	unsigned long steps; /* begun */
	double begun_s;
	long begun_kb; /* that it held after a third of its steps */
};

static void program_check(const struct program *program, bool good)
{
	if (!good)
		errx(COULD_NOT, "%s", program->gpu.why);
}

static bool program_arrives(const struct program *program)
{
	return program->options->config.device != NULL;
}

/* ---- one step ---------------------------------------------------------------- */

static struct room *program_room(struct program *program)
{
	return &program->rooms[program->steps % program->options->ahead];
}

/* Has the program's stream copy a batch. */
static bool program_copy(struct program *program, const struct dsa_batch *batch)
{
	struct room *room = program_room(program);

	memcpy(room->host, batch->data, program->bytes);
	return GPU_WENT(&program->gpu, cuMemcpyHtoDAsync_v2, room->device, room->host,
			program->bytes, program->stream);
}

/* The copy, if it is the program's, and the kernel, once the room is free. */
static bool program_launch(struct program *program,
			   const struct dsa_device_batch *batch)
{
	struct gpu_calls *gpu = &program->gpu;
	struct room *room = program_room(program);
	bool arrives = program_arrives(program);

	return GPU_WENT(gpu, cuEventSynchronize, room->done) &&
	       (arrives || program_copy(program, &batch->batch)) &&
	       gpu_work_launch(&program->work, program->stream,
			       arrives ? batch->data : room->device, program->bytes) &&
	       GPU_WENT(gpu, cuEventRecord, room->done, program->stream);
}

/* Keeps a batch that is on the device, for the end. */
static bool program_keep(struct program *program, const struct dsa_device_batch *batch)
{
	struct gpu_calls *gpu = &program->gpu;

	return GPU_WENT(gpu, cuStreamSynchronize, program->stream) &&
	       GPU_WENT(gpu, cuMemcpyDtoH_v2, program_room(program)->host, batch->data,
			program->bytes);
}

/* Of memory that is this process's own: the session grows where it is not. */
static long memory_kb(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = strtol(line + 8, NULL, 10);
	if (file != NULL)
		fclose(file);
	return kb;
}

static bool program_step(struct program *program, const struct dsa_device_batch *batch)
{
	const struct options *options = program->options;
	struct room *room = program_room(program);
	bool arrives = program_arrives(program);
	bool good = program_launch(program, batch) &&
		    (!arrives || !options->check || program_keep(program, batch));

	if (arrives)
		dsa_release_device(program->loader, batch, program->stream);
	else
		dsa_release(program->loader, &batch->batch);
	good = good && (options->ahead > 1 ||
			GPU_WENT(&program->gpu, cuEventSynchronize, room->done));
	if (++program->steps == options->steps / 3)
		program->begun_kb = memory_kb();
	return good;
}

static bool program_next(struct program *program, struct dsa_device_batch *batch)
{
	const struct options *options = program->options;
	int result;

	if (options->steps > 0 && program->steps == options->steps)
		return false;
	result = program_arrives(program)
			 ? dsa_next_device(program->loader, program->stream, batch)
			 : dsa_next(program->loader, &batch->batch);
	if (result < 0)
		errx(COULD_NOT, "%s", dsa_why(program->loader));
	return result > 0;
}

/* ---- before, and after ------------------------------------------------------- */

/* The device first: batches arrive in the context that is current. */
static void program_open(struct program *program, const struct options *options)
{
	struct gpu_calls *gpu = &program->gpu;
	char why[DSA_WHY];

	program->options = options;
	program_check(program,
		      gpu_calls_open(gpu) && gpu_work_open(gpu, &program->work) &&
			      GPU_WENT(gpu, cuStreamCreateWithPriority,
				       &program->stream, CU_STREAM_NON_BLOCKING, 0));
	if (dsa_open(&options->config, &program->loader, why) < 0)
		errx(COULD_NOT, "%s", why);
}

static bool program_make_rooms(struct program *program)
{
	unsigned count = program->options->ahead;
	struct gpu_calls *gpu = &program->gpu;
	size_t bytes = program->bytes;

	program->rooms = calloc(count, sizeof(struct room));
	if (program->rooms == NULL)
		err(COULD_NOT, NULL);
	for (unsigned i = 0; i < count; i++) {
		struct room *room = &program->rooms[i];

		if (!GPU_WENT(gpu, cuMemHostAlloc, &room->host, bytes, 0) ||
		    !GPU_WENT(gpu, cuMemAlloc_v2, &room->device, bytes) ||
		    !GPU_WENT(gpu, cuEventCreate, &room->done, 0) ||
		    !GPU_WENT(gpu, cuEventRecord, room->done, program->stream))
			return false;
	}
	return true;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Steps of a batch that is there, which nobody else takes part in. */
static void program_time(struct program *program, const struct dsa_device_batch *batch)
{
	FILE *file = fopen(program->options->output, "w");
	double begin = 0;

	if (file == NULL)
		err(COULD_NOT, "%s", program->options->output);
	for (int i = 0; i < 2 * ALONE; i++) {
		if (i == ALONE)
			begin = seconds();
		program_check(program,
			      program_launch(program, batch) &&
				      GPU_WENT(&program->gpu, cuEventSynchronize,
					       program_room(program)->done));
	}
	fprintf(file,
		"{\"step_s\": %.9f, \"batch_bytes\": %zu, \"rounds\": %" PRIu64 "}\n",
		(seconds() - begin) / ALONE, program->bytes, program->work.rounds);
	fclose(file);
}

static void program_begin(struct program *program, const struct dsa_device_batch *batch)
{
	const struct options *options = program->options;

	program->bytes = batch->batch.count * batch->batch.sample_bytes;
	program->work.rounds = options->rounds;
	program_check(
		program,
		program_make_rooms(program) &&
			(options->rounds > 0 ||
			 gpu_work_set_time(&program->work, options->work_ms,
					   program->rooms->device, program->bytes)));
	if (options->output != NULL)
		program_time(program, batch);
	program->begun_s = seconds();
}

static void program_end(struct program *program)
{
	program_check(program,
		      GPU_WENT(&program->gpu, cuStreamSynchronize, program->stream));
	printf("%lu steps, %.4f ms each", program->steps,
	       1e3 * (seconds() - program->begun_s) / (double)program->steps);
	if (program->begun_kb > 0)
		printf(", memory %+ld KB", memory_kb() - program->begun_kb);
	printf("\n");
	program->steps--;
	if (program->options->check)
		program_check(program, gpu_work_right(&program->work,
						      program_room(program)->host,
						      program->bytes));
}

static void train(const struct options *options)
{
	struct program program = {0};
	struct dsa_device_batch batch = {0};

	program_open(&program, options);
	while (program_next(&program, &batch)) {
		if (program.rooms == NULL)
			program_begin(&program, &batch);
		program_check(&program, program_step(&program, &batch));
	}
	if (program.steps > 0)
		program_end(&program);
	dsa_close(program.loader);
}

/* Whether it is an option of this program. */
static bool take(struct options *options, int key, char *value)
{
	switch (key) {
	case 'd':
		options->config.device = "cuda";
		return true;
	case 'b':
		options->config.batch = (unsigned)atoi(value);
		return true;
	case 's':
		options->config.size = (unsigned)atoi(value);
		return true;
	case 'w':
		options->work_ms = atof(value);
		return true;
	case 'r':
		options->rounds = strtoull(value, NULL, 10);
		return true;
	case 'a':
		options->ahead = (unsigned)atoi(value);
		return true;
	case 'n':
		options->steps = strtoul(value, NULL, 10);
		return true;
	case 'o':
		options->output = value;
		return true;
	case 'c':
		options->check = true;
		return true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct options options = {.config = {.batch = 32, .size = 64, .drop_last = 1},
				  .work_ms = 5,
				  .ahead = 1};
	bool good = true;
	int key;

	while (good && (key = getopt(argc, argv, "db:s:w:r:a:n:o:c")) != -1)
		good = take(&options, key, optarg);
	if (!good || optind + 1 != argc || options.config.batch == 0 ||
	    options.ahead == 0)
		errx(2, "usage: gpu_step [-d] [-b BATCH] [-s SIZE] [-w MS | -r ROUNDS] "
			"[-a AHEAD] [-n STEPS] [-o FILE] [-c] DATASET");
	options.config.dataset = argv[optind];
	train(&options);
	return 0;
}
