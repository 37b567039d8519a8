/*
 * gpu_probe.c - asks NVIDIA's driver for what dsa builds on, one thing a launch.
 *
 *	gpu_probe device         the driver's version, and what the device can
 *	gpu_probe jit FILE...    PTX, compiled by the driver
 *	gpu_probe work           a kernel's time and its result
 *	gpu_probe register       a sealed memfd pinned: written, read-only, mapped twice in a row
 *	gpu_probe queue          what each thing beside the copies of batches costs them
 *
 * Prints what gpu_calls_tell() does. Ends with 0, whatever that is.
 */
#include "tests/lib/gpu_work.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- device ------------------------------------------------------------------ */

static const struct {
	enum gpu_attribute number;
	const char *check;
} abilities[] = {
	{GPU_HOST_REGISTER, "registration of host memory"},
	{GPU_READ_ONLY_REGISTER, "registration as read-only"},
	{GPU_VMM, "device memory mapped by hand"},
	{GPU_VMM_DESCRIPTOR, "device memory by descriptor"},
};

static void probe_device(struct gpu_calls *gpu, char **words)
{
	char text[128];
	int version = 0;

	(void)words;
	gpu->cuDriverGetVersion(&version);
	snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
	gpu_calls_tell("ok", "CUDA version of the driver", text, "", "");
	gpu->cuDeviceGetName(text, sizeof(text), gpu->device);
	gpu_calls_tell("ok", "device 0", text, "", "");
	snprintf(text, sizeof(text), "%d.%d", gpu_calls_attribute(gpu, GPU_MAJOR),
		 gpu_calls_attribute(gpu, GPU_MINOR));
	gpu_calls_tell("ok", "compute capability", text, "", "");
	for (size_t i = 0; i < sizeof(abilities) / sizeof(*abilities); i++)
		gpu_calls_tell("ok", abilities[i].check,
			       gpu_calls_attribute(gpu, abilities[i].number) ? "yes"
									     : "no",
			       "", "");
}

/* ---- jit, work --------------------------------------------------------------------- */

static char *read_text(const char *path)
{
	char *text = calloc(1, 1 << 16);
	FILE *file = fopen(path, "r");

	if (file == NULL || text == NULL || fread(text, 1, (1 << 16) - 1, file) == 0)
		err(2, "%s", path);
	fclose(file);
	return text;
}

static void probe_ptx(struct gpu_calls *gpu, const char *path)
{
	char *ptx = read_text(path), check[128], figure[32];
	struct timespec begin, end;
	bool compiled;

	snprintf(check, sizeof(check), "JIT of %s", basename(path));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	compiled = gpu_calls_compile(gpu, ptx, NULL, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	snprintf(figure, sizeof(figure), "%.1f ms",
		 1e3 * (double)(end.tv_sec - begin.tv_sec) +
			 (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
	gpu_calls_tell(compiled ? "ok" : "FAILED", check, figure, "",
		       compiled ? "" : gpu->why);
	free(ptx);
}

static void probe_jit(struct gpu_calls *gpu, char **words)
{
	while (*words != NULL)
		probe_ptx(gpu, *words++);
}

/* One launch of the kernel of gpu_step. */
static void probe_work(struct gpu_calls *gpu, char **words)
{
	uint32_t numbers[1024];
	const size_t bytes = sizeof(numbers);
	struct gpu_work work;
	cuda_address batch;
	char text[64];
	bool good;

	(void)words;
	for (uint32_t i = 0; i < 1024; i++)
		numbers[i] = i;
	good = gpu_work_open(gpu, &work) &&
	       GPU_WENT(gpu, cuMemAlloc_v2, &batch, bytes) &&
	       gpu_work_set_time(&work, 2, batch, bytes) &&
	       GPU_WENT(gpu, cuMemcpyHtoDAsync_v2, batch, numbers, bytes, NULL) &&
	       gpu_work_launch(&work, NULL, batch, bytes) &&
	       GPU_WENT(gpu, cuStreamSynchronize, NULL) &&
	       gpu_work_right(&work, numbers, bytes);
	snprintf(text, sizeof(text), "%.2f ns a round",
		 good ? 2e6 / (double)work.rounds : 0);
	gpu_calls_tell(good ? "ok" : "FAILED", "result of a kernel", good ? text : "",
		       "as on the host", good ? "" : gpu->why);
}

/* ---- register ---------------------------------------------------------------- */

enum { TURNS = 8, COLLAPSE = 25 }; /* copies that are timed; advice of Linux 6.1 */
static const char *const copies_goal = "95 % of the driver's own memory";
static const size_t REGION = (size_t)64 << 20;

/* Copies of a region to the device. */
struct copies {
	struct gpu_calls *gpu;
	cuda_stream stream;
	void *limit; /* memory of the driver's own, as fast as it goes */
	cuda_address device;
};

/* False, and it is told: a call failed. */
static bool copies_open(struct copies *copies, struct gpu_calls *gpu, const char *check)
{
	*copies = (struct copies){.gpu = gpu};
	if (!GPU_WENT(gpu, cuStreamCreateWithPriority, &copies->stream,
		      CU_STREAM_NON_BLOCKING, 0) ||
	    !GPU_WENT(gpu, cuMemAlloc_v2, &copies->device, REGION) ||
	    !GPU_WENT(gpu, cuMemHostAlloc, &copies->limit, REGION,
		      CU_MEMHOSTREGISTER_PORTABLE)) {
		gpu_calls_tell("FAILED", check, "", "", gpu->why);
		return false;
	}
	memset(copies->limit, 1, REGION);
	return true;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of TURNS copies, GB/s; 0: a call failed. */
static double copies_rate(struct copies *copies, const void *from)
{
	struct gpu_calls *gpu = copies->gpu;
	double begin = seconds();

	for (int i = 0; i < TURNS; i++)
		if (!GPU_WENT(gpu, cuMemcpyHtoDAsync_v2, copies->device, from, REGION,
			      copies->stream))
			return 0;
	if (!GPU_WENT(gpu, cuStreamSynchronize, copies->stream))
		return 0;
	return TURNS * (double)REGION / 1e9 / (seconds() - begin);
}

/* Whether the last copy of a region, from whichever mapping, is on the device. */
static bool copies_arrived(struct copies *copies, const void *from)
{
	void *back = malloc(REGION);
	bool same =
		back != NULL &&
		GPU_WENT(copies->gpu, cuMemcpyDtoH_v2, back, copies->device, REGION) &&
		memcmp(back, from, REGION) == 0;

	free(back);
	return same;
}

static void copies_tell(struct copies *copies, const char *check, const char *from)
{
	double best = 0, limit = 0;
	char text[64];
	bool arrived;

	for (int turn = 0; turn < 5; turn++) {
		double rate = copies_rate(copies, copies->limit);

		limit = rate > limit ? rate : limit;
		rate = copies_rate(copies, from);
		best = rate > best ? rate : best;
	}
	arrived = best > 0 && copies_arrived(copies, from);
	snprintf(text, sizeof(text), "%.1f of %.1f GB/s", best, limit);
	gpu_calls_tell(arrived && best >= .95 * limit ? "ok" : "FAILED", check, text,
		       copies_goal,
		       best == 0  ? copies->gpu->why
		       : !arrived ? "other bytes arrived"
				  : "");
}

/* Two mappings in a row of one file, or one. */
static void *region_map(int fd, int protection, int times)
{
	char *start = mmap(NULL, (size_t)times * REGION, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < times && start != MAP_FAILED; i++)
		if (mmap(start + (size_t)i * REGION, REGION, protection,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return MAP_FAILED;
	return start;
}

/* A memfd as the loader's: its size is sealed, its pages are huge where they can be. */
static int region_make(void)
{
	int fd = memfd_create("gpu_probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *start;

	if (fd < 0 || ftruncate(fd, (off_t)REGION) < 0)
		err(2, "memfd");
	start = region_map(fd, PROT_READ | PROT_WRITE, 1);
	if (start == MAP_FAILED)
		err(2, "mmap");
	for (size_t i = 0; i < REGION; i++)
		start[i] = (char)(i * 7 >> 3);
	gpu_calls_tell("ok", "huge pages in a memfd",
		       madvise(start, REGION, COLLAPSE) == 0 ? "yes" : strerror(errno),
		       "", "");
	munmap(start, REGION);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	return fd;
}

static const struct {
	const char *check;
	int protection, times;
	unsigned flags;
} registrations[] = {
	{"copy from a registered memfd", PROT_READ | PROT_WRITE, 1, 0},
	{"... mapped twice in a row", PROT_READ | PROT_WRITE, 2, 0},
	{"... mapped read-only, registered so", PROT_READ, 1, GPU_HOST_READ_ONLY},
	{"... read-only and twice in a row", PROT_READ, 2, GPU_HOST_READ_ONLY},
};

static void probe_registration(struct copies *copies, int fd, size_t number)
{
	struct gpu_calls *gpu = copies->gpu;
	const char *check = registrations[number].check;
	int times = registrations[number].times;
	unsigned flags = registrations[number].flags;
	void *start = region_map(fd, registrations[number].protection, times);

	if (start == MAP_FAILED)
		err(2, "mmap");
	if (flags != 0 && !gpu_calls_attribute(gpu, GPU_READ_ONLY_REGISTER))
		gpu_calls_tell("n/a", check, "", "",
			       "the device does not have attribute 113");
	else if (GPU_WENT(gpu, cuMemHostRegister_v2, start, (size_t)times * REGION,
			  flags | CU_MEMHOSTREGISTER_PORTABLE)) {
		copies_tell(copies, check, start);
		gpu->cuMemHostUnregister(start);
	} else
		gpu_calls_tell("FAILED", check, "", copies_goal, gpu->why);
	munmap(start, (size_t)times * REGION);
}

/* What a read-only mapping says to being pinned for writing: nothing depends on it. */
static void probe_wrong_flag(struct gpu_calls *gpu, int fd)
{
	void *start = region_map(fd, PROT_READ, 1);
	bool pinned;

	if (start == MAP_FAILED)
		err(2, "mmap");
	pinned = GPU_WENT(gpu, cuMemHostRegister_v2, start, REGION,
			  CU_MEMHOSTREGISTER_PORTABLE);
	gpu_calls_tell("ok", "read-only mapping, registered for writing",
		       pinned ? "taken" : gpu->why, "", "");
	if (pinned)
		gpu->cuMemHostUnregister(start);
	munmap(start, REGION);
}

static void probe_register(struct gpu_calls *gpu, char **words)
{
	struct copies copies;
	int fd = region_make();

	(void)words;
	if (!copies_open(&copies, gpu, registrations[0].check))
		return;
	for (size_t i = 0; i < sizeof(registrations) / sizeof(*registrations); i++)
		probe_registration(&copies, fd, i);
	probe_wrong_flag(gpu, fd);
}

/* ---- queue ------------------------------------------------------------------- */

enum { SLOTS = 6, BATCHES = 200, LABELS = 512 /* bytes */ };
static const size_t SLOT = (size_t)64 * 224 * 224 * 3;

/* The last but two as loader/gpu/twins.c enqueues them; then without times, and with labels
 * that are a copy of their own. */
struct queue {
	const char *check;
	bool after, before, labels, awaited; /* awaited: SLOTS at once, at the most */
	unsigned flags;                      /* of the events */
};

static const struct queue queues[] = {
	{.check = "batches of 9.6 MB, copied one after another"},
	{.check = "... an event after each", .after = true},
	{.check = "... one before, too", .after = true, .before = true},
	{.check = "... six at once", .after = true, .before = true, .awaited = true},
	{.check = "... awaited asleep",
	 .after = true,
	 .before = true,
	 .awaited = true,
	 .flags = CU_EVENT_BLOCKING_SYNC},
	{.check = "... events without times",
	 .after = true,
	 .before = true,
	 .awaited = true,
	 .flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING},
	{.check = "... and labels",
	 .after = true,
	 .before = true,
	 .labels = true,
	 .awaited = true,
	 .flags = CU_EVENT_BLOCKING_SYNC},
};

static bool queue_copy(const struct queue *queue, struct copies *copies,
		       const cuda_event events[2], size_t offset)
{
	struct gpu_calls *gpu = copies->gpu;
	const char *from = (const char *)copies->limit + offset;

	return (!queue->before ||
		GPU_WENT(gpu, cuEventRecord, events[0], copies->stream)) &&
	       GPU_WENT(gpu, cuMemcpyHtoDAsync_v2, copies->device + offset, from, SLOT,
			copies->stream) &&
	       (!queue->labels || GPU_WENT(gpu, cuMemcpyHtoDAsync_v2, copies->device,
					   from, LABELS, copies->stream)) &&
	       (!queue->after ||
		GPU_WENT(gpu, cuEventRecord, events[1], copies->stream));
}

static bool queue_run(const struct queue *queue, struct copies *copies,
		      cuda_event events[SLOTS][2])
{
	struct gpu_calls *gpu = copies->gpu;

	for (size_t i = 0; i < BATCHES; i++) {
		size_t slot = i % SLOTS;

		if (queue->awaited && i >= SLOTS &&
		    !GPU_WENT(gpu, cuEventSynchronize, events[slot][1]))
			return false;
		if (!queue_copy(queue, copies, events[slot], slot * SLOT))
			return false;
	}
	return GPU_WENT(gpu, cuStreamSynchronize, copies->stream);
}

static void queue_tell(const struct queue *queue, struct copies *copies)
{
	struct gpu_calls *gpu = copies->gpu;
	cuda_event events[SLOTS][2] = {{NULL}};
	bool good = true;
	double best = 0;
	char text[64];

	for (int i = 0; i < SLOTS && good; i++)
		good = GPU_WENT(gpu, cuEventCreate, &events[i][0], queue->flags) &&
		       GPU_WENT(gpu, cuEventCreate, &events[i][1], queue->flags);
	for (int turn = 0; turn < 3 && good; turn++) {
		double begin = seconds();

		good = queue_run(queue, copies, events);
		best = fmax(best, BATCHES * (double)SLOT / 1e9 / (seconds() - begin));
	}
	snprintf(text, sizeof(text), "%.1f GB/s", best);
	gpu_calls_tell(good ? "ok" : "FAILED", queue->check, good ? text : "", "",
		       good ? "" : gpu->why);
}

static void probe_queue(struct gpu_calls *gpu, char **words)
{
	struct copies copies;

	(void)words;
	if (!copies_open(&copies, gpu, queues[0].check))
		return;
	for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++)
		queue_tell(&queues[i], &copies);
}

/* ---- all --------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(struct gpu_calls *gpu, char **words);
} probes[] = {
	{"device", probe_device},     {"jit", probe_jit},     {"work", probe_work},
	{"register", probe_register}, {"queue", probe_queue},
};

int main(int argc, char **argv)
{
	struct gpu_calls gpu = {0};

	for (size_t i = 0; argc > 1 && i < sizeof(probes) / sizeof(*probes); i++) {
		if (strcmp(argv[1], probes[i].name) != 0)
			continue;
		if (gpu_calls_open(&gpu))
			probes[i].run(&gpu, argv + 2);
		else
			gpu_calls_tell("n/a", argv[1], "", "", gpu.why);
		return 0;
	}
	errx(2, "usage: gpu_probe device | jit FILE... | work | register | queue");
}
