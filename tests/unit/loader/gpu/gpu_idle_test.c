/* gpu_idle_test.c - what is waited for at a window's ends: the work of a program that runs
 * far ahead of its device, by the fake driver. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/test.h"
#include "tests/tool/cuda/fake_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORK = 50000000 /* ns */, BYTES = 64 };

/* A program that has given its device a kernel, and a copy of what that read. */
struct ahead {
	struct fake_program program;
	cuda_address memory;
	char copy[BYTES];
};

static void ahead_open(struct ahead *ahead, const char *settings)
{
	fake_gpu(settings);
	fake_program_open(&ahead->program);
	assert_int_equal(ahead->program.cuda.cuMemAlloc_v2(&ahead->memory, BYTES), 0);
	memset((void *)(uintptr_t)ahead->memory, 7, BYTES); /* it is the process's */
	memset(ahead->copy, 0, BYTES);
	fake_program_step(&ahead->program, WORK, ahead->memory, BYTES, ahead->copy);
}

static void ahead_close(struct ahead *ahead)
{
	fake_program_sync(&ahead->program);
	assert_int_equal(ahead->program.cuda.cuMemFree_v2(ahead->memory), 0);
	fake_program_close(&ahead->program);
}

/* In this order, as what is loaded stays. */
TEST(without_a_driver_nothing_is_waited_for)
{
	assert_int_equal(gpu_idle(), TRACE_NO_DEVICES);
}

/* In a process of its own, as what is loaded stays. */
static int await_unshared(void)
{
	cuda_context context;
	struct cuda cuda;

	fake_gpu_unshared();
	if (!cuda_loaded(&cuda) || cuda.cuMemCreate != NULL || cuda.cuInit(0) != 0 ||
	    cuda_open(&cuda, NULL) != -ENOSYS)
		return 1;
	cuda.cuDevicePrimaryCtxRetain(&context, 0);
	cuda.cuCtxPushCurrent_v2(context);
	return gpu_idle() == TRACE_AWAITED ? 0 : 2;
}

TEST(a_driver_that_shares_no_memory_is_waited_for)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(await_unshared());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(a_driver_that_is_not_used_stays_so)
{
	fake_gpu("");
	assert_int_equal(gpu_idle(), TRACE_NO_DEVICES);
	assert_int_equal(gpu_idle(), TRACE_NO_DEVICES);
}

TEST(no_primary_one_is_made_for_it)
{
	struct cuda cuda;
	unsigned flags;
	int active = 1;

	fake_gpu("");
	assert_int_equal(cuda_open(&cuda, NULL), 0);
	assert_int_equal(gpu_idle(), TRACE_NO_DEVICES);
	assert_int_equal(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), 0);
	assert_false(active);
}

TEST(the_threads_context_has_done_all_that_it_was_given)
{
	struct ahead ahead;

	ahead_open(&ahead, "");
	assert_int_equal(gpu_idle(), TRACE_AWAITED);
	assert_int_equal(ahead.copy[0], 7);
	ahead_close(&ahead);
}

/* As in the thread of a loader. */
TEST(without_one_the_active_primary_ones_have)
{
	const struct cuda *cuda;
	struct ahead ahead;
	cuda_context context;

	ahead_open(&ahead, "devices=2");
	cuda = &ahead.program.cuda;
	assert_int_equal(cuda->cuCtxPopCurrent_v2(&context), 0);
	assert_int_equal(gpu_idle(), TRACE_AWAITED);
	assert_int_equal(ahead.copy[0], 7);
	assert_int_equal(cuda->cuCtxGetCurrent(&context), 0);
	assert_null(context);
	assert_int_equal(cuda->cuCtxPushCurrent_v2(ahead.program.context), 0);
	ahead_close(&ahead);
}

static unsigned invalidated(void)
{
	unsigned (*count)(void);

	*(void **)&count =
		dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_invalidated");
	assert_non_null(count);
	return count();
}

/* In whatever mode a context can't be waited for, and a graph that is recorded there is
 * lost; but for one whose stream waits for the default one, which can be asked for. */
TEST(a_graph_that_is_recorded_is_told)
{
	for (int kind = 1; kind <= 2; kind++) {
		unsigned before, mode = 0;
		struct ahead ahead;

		(void)state;
		ahead_open(&ahead, "");
		before = invalidated();
		fake_gpu(kind == 1 ? "capture=1" : "capture=2");
		assert_int_equal(gpu_idle(), TRACE_CAPTURED);
		assert_int_equal(invalidated() - before, kind == 1);
		ahead.program.cuda.cuThreadExchangeStreamCaptureMode(&mode);
		assert_int_equal(mode, 0); /* as it was */
		fake_gpu("");
		ahead_close(&ahead);
	}
}

/* ---- with batches that the loader copies ---- */

enum { SLOTS = 4, BATCH = 4, SAMPLE = 1024, SLOT = 8192 };

static _Atomic unsigned copied; /* batches */

static void count_copies(const struct fake_cuda_work *work)
{
	copied += work->kind == FAKE_COPY_IN;
}

static void watch_copies(fake_cuda_done *done)
{
	void (*watch)(fake_cuda_done *);

	*(void **)&watch = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_watch");
	assert_non_null(watch);
	copied = 0;
	watch(done);
}

/* A loader's device, beside a program's. */
struct beside {
	struct ahead ahead;
	struct trace_process *process;
	struct gpu_slots slots;
	struct gpu *gpu;
	struct gpu_twins *twins;
};

static void beside_open(struct beside *beside, const char *settings)
{
	struct gpu_config config = {
		.ordinal = -1, .batch = BATCH, .slots = SLOTS, .sample_bytes = SAMPLE};

	*beside = (struct beside){
		.process = calloc(1, sizeof(*beside->process)),
		.slots = {.slot_bytes = SLOT, .labels = BATCH * SAMPLE, .count = SLOTS},
	};
	config.process = beside->process;
	ahead_open(&beside->ahead, settings);
	assert_int_equal(gpu_idle(), TRACE_AWAITED);
	beside->gpu = gpu_open(&config, NULL);
	beside->slots.start = aligned_alloc(SLOT, SLOTS * SLOT);
	memset(beside->slots.start, 3, SLOTS * SLOT);
	beside->twins = gpu_twins_open(beside->gpu, &beside->slots, NULL);
	assert_non_null(beside->twins);
}

static void beside_close(struct beside *beside)
{
	gpu_twins_close(beside->twins);
	gpu_close(beside->gpu);
	ahead_close(&beside->ahead);
	free(beside->slots.start);
	free(beside->process);
}

/* Batches of 200 ms on their way, of which the program has the first. */
TEST(copies_that_nobody_has_taken_go_on)
{
	struct gpu_batch batch;
	struct beside beside;
	struct ahead *ahead = &beside.ahead;

	beside_open(&beside, "rate=2e4");
	watch_copies(count_copies);
	for (uint32_t i = 0; i < SLOTS; i++)
		gpu_twins_copy(beside.twins, i, BATCH);
	assert_int_equal(
		gpu_twins_wait(beside.twins, 0, ahead->program.stream, &batch, NULL),
		0);
	fake_program_step(&ahead->program, 0, batch.data, BYTES, ahead->copy);
	gpu_set_asking(beside.gpu, ahead->program.stream);
	assert_int_equal(gpu_idle_but_copies(beside.gpu), TRACE_AWAITED);
	assert_int_equal(ahead->copy[0], 3);
	assert_in_range(copied, 1, SLOTS - 1);
	assert_int_equal(gpu_idle(), TRACE_AWAITED);
	assert_int_equal(copied, SLOTS);
	watch_copies(NULL);
	beside_close(&beside);
}

/* All calls for a batch, a pool that is made meanwhile, and the ends of a window. */
TEST(another_threads_graph_is_left_alone)
{
	struct gpu_batch batch;
	struct gpu_twins *more;
	struct beside beside;
	struct gpu_slots slots;
	unsigned before;

	beside_open(&beside, "");
	before = invalidated();
	fake_gpu("capture=1");
	slots = beside.slots;
	slots.start = aligned_alloc(SLOT, SLOTS * SLOT);
	for (uint32_t i = 0; i < 2 * SLOTS; i++) {
		void *stream = beside.ahead.program.stream;
		uint32_t slot = i % SLOTS;

		gpu_twins_copy(beside.twins, slot, BATCH);
		assert_int_equal(
			gpu_twins_wait(beside.twins, slot, stream, &batch, NULL), 0);
		assert_int_equal(gpu_twins_release(beside.twins, slot, stream, NULL),
				 0);
		gpu_twins_finish(beside.twins, slot);
	}
	more = gpu_twins_open(beside.gpu, &slots, NULL);
	assert_non_null(more);
	gpu_twins_close(more);
	assert_int_equal(gpu_idle_but_copies(beside.gpu), TRACE_AWAITED);
	fake_gpu("capture=2");
	assert_int_equal(gpu_idle_but_copies(beside.gpu), TRACE_CAPTURED);
	assert_int_equal(invalidated(), before);
	fake_gpu("");
	beside_close(&beside);
	free(slots.start);
}

/* Which can't be marked there: it is over when the call fails. */
TEST(work_of_a_stream_that_is_gone_is_waited_for)
{
	struct error err = {0};
	struct gpu_batch batch;
	struct beside beside;
	cuda_stream stream;
	char copy[BYTES] = "";

	beside_open(&beside, "");
	stream = beside.ahead.program.stream;
	gpu_twins_copy(beside.twins, 0, BATCH);
	assert_int_equal(gpu_twins_wait(beside.twins, 0, stream, &batch, NULL), 0);
	fake_program_step(&beside.ahead.program, WORK, batch.data, BYTES, copy);
	beside.ahead.program.cuda.cuStreamDestroy_v2(stream);
	assert_int_equal(copy[0], 0);
	assert_int_equal(gpu_twins_release(beside.twins, 0, stream, &err), -EIO);
	assert_int_equal(copy[0], 3);
	assert_non_null(strstr(err.message, "a stream was destroyed before"));
	beside.ahead.program.cuda.cuStreamCreateWithPriority(
		&beside.ahead.program.stream, CU_STREAM_NON_BLOCKING, 0);
	beside_close(&beside);
}
