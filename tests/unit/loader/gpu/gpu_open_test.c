/* gpu_open_test.c - a loader for a device: what it refuses, in which words; the context of
 * the program; what it counts and says of itself. */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "loader/prep.h"
#include "tests/lib/delivered.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/test.h"
#include "tests/tool/cuda/fake_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dsa_config device_config(void)
{
	struct dsa_config config = images_config(images_good);

	config.device = "cuda";
	return config;
}

TEST(what_is_not_there_is_one_clear_line)
{
	static const struct {
		const char *driver, *device, *settings, *said;
		int result;
	} wrong[] = {
		{"", "cuda:x", "", "device is cuda, or as cuda:1, not 'cuda:x'",
		 -EINVAL},
		{"", "gpu", "", "device is cuda, or as cuda:1, not 'gpu'", -EINVAL},
		{"", "cuda", "device=cuda:-1",
		 "DSA_LOADER: device is cuda, or as cuda:1, not 'cuda:-1'", -EINVAL},
		{"", "cuda", "transfer=float",
		 "DSA_LOADER: transfer is uint8 or output, not 'float'", -EINVAL},
		{"devices=0", "cuda", "", "device: the NVIDIA driver finds no device",
		 -ENODEV},
		{"devices=2", "cuda:2", "", "device: there is no cuda:2, but 2",
		 -ENODEV},
		{"devices=2", "cuda", "device=cuda:7",
		 "device: there is no cuda:7, but 2", -ENODEV},
		{"devices=2", "cuda:3", "device=cuda",
		 "device: there is no cuda:3, but 2", -ENODEV},
		{"version=10020", "cuda", "",
		 "device: the NVIDIA driver is for CUDA 10.2: 11.0 is needed", -ENOSYS},
		{"memory=40000", "cuda", "transfer=output",
		 "device: 0 MB for 5 batches (smaller batch or prefetch?): cuMemAlloc: "
		 "out of memory (2)",
		 -ENOMEM},
		{"ptx=refused", "cuda", "",
		 "device: it can't convert bytes (transfer=output?): cuModuleLoadData: "
		 "a PTX JIT compilation failed (218)",
		 -EIO},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dsa_config config = device_config();
		struct dsa_loader *loader = NULL;
		char why[DSA_WHY] = "";
		int result;

		config.device = wrong[i].device;
		config.type = DSA_FLOAT32;
		fake_gpu(wrong[i].driver);
		setenv("DSA_LOADER", wrong[i].settings, 1);
		result = dsa_open(&config, &loader, why);
		unsetenv("DSA_LOADER");
		assert_string_equal(why, wrong[i].said);
		assert_int_equal(result, wrong[i].result);
	}
}

TEST(keys_act_on_loaders_for_devices_alone)
{
	struct dsa_config config = images_config(images_good);
	struct delivered one = delivered_of(&config), other;

	fake_gpu("devices=0");
	setenv("DSA_LOADER", "device=cuda:3,transfer=output", 1);
	other = delivered_of(&config);
	unsetenv("DSA_LOADER");
	delivered_same(&one, 0, &other);
}

/* By its ordinal as by DSA_LOADER, and in whatever context the program is. */
TEST(the_context_stays_as_it_was)
{
	struct dsa_config config = device_config();
	struct fake_program program;
	struct dsa_device_batch batch;
	struct dsa_loader *loader;
	cuda_context now = NULL;

	fake_gpu("devices=2");
	loader = delivered_open(&config); /* there is none yet */
	fake_program_open(&program);
	config.device = "cuda:1";
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dsa_next_device(loader, NULL, &batch), 1);
		program.cuda.cuCtxGetCurrent(&now);
		assert_ptr_equal(now, program.context);
		assert_int_equal(dsa_release_device(loader, &batch, NULL), 0);
		dsa_close(loader);
		loader = delivered_open(&config);
		program.cuda.cuCtxGetCurrent(&now);
		assert_ptr_equal(now, program.context);
	}
	dsa_close(loader);
	fake_program_close(&program);
	program.cuda.cuCtxGetCurrent(&now);
	assert_null(now);
}

TEST(each_kind_of_loader_has_calls_of_its_own)
{
	struct dsa_config device = device_config(), memory = images_config(images_good);
	struct dsa_device_batch there = {0};
	struct dsa_batch here = {0};
	struct dsa_loader *loader;

	fake_gpu("");
	loader = delivered_open(&device);
	assert_int_equal(dsa_next(loader, &here), -EINVAL);
	assert_string_equal(dsa_why(loader),
			    "the loader's batches are on a device: use "
			    "dsa_next_device() and dsa_release_device()");
	assert_int_equal(dsa_release(loader, &here), -EINVAL);
	assert_int_equal(dsa_next_device(loader, NULL, &there), 1);
	assert_int_equal(dsa_compute(loader, &there.batch, 1e9), 0);
	dsa_close(loader);
	loader = delivered_open(&memory);
	assert_int_equal(dsa_next_device(loader, NULL, &there), -EINVAL);
	assert_string_equal(dsa_why(loader),
			    "the loader's batches are in memory: open it with a "
			    "device, or use dsa_next() and dsa_release()");
	assert_int_equal(dsa_wait_device(loader, &there, NULL), -EINVAL);
	assert_int_equal(dsa_release_device(loader, &there, NULL), -EINVAL);
	dsa_close(loader);
}

TEST(a_forked_child_is_refused)
{
	struct dsa_config config = device_config();
	struct dsa_device_batch batch;
	struct dsa_loader *loader;
	int status;
	pid_t child;

	fake_gpu("");
	loader = delivered_open(&config);
	assert_int_equal(dsa_next_device(loader, NULL, &batch), 1);
	child = fork();
	if (child == 0) {
		struct dsa_device_batch other;
		int bad = dsa_next_device(loader, NULL, &other) != -EOWNERDEAD ||
			  dsa_wait_device(loader, &batch, NULL) != -EOWNERDEAD ||
			  dsa_release_device(loader, &batch, NULL) != -EOWNERDEAD;

		dsa_close(loader);
		_exit(bad);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(dsa_release_device(loader, &batch, NULL), 0);
	assert_int_equal(dsa_next_device(loader, NULL, &batch), 1);
	dsa_close(loader);
}

TEST(a_copy_that_fails_is_told_with_its_batch)
{
	struct dsa_config config = device_config();
	struct dsa_device_batch batch;
	struct dsa_loader *loader;
	int result = 1;
	unsigned count = 0;

	fake_gpu("fail=3");
	loader = delivered_open(&config);
	while ((result = dsa_next_device(loader, NULL, &batch)) > 0) {
		dsa_release_device(loader, &batch, NULL);
		count++;
	}
	assert_int_equal(result, -EIO);
	assert_true(count <= 2);
	assert_non_null(strstr(dsa_why(loader), "an illegal memory access"));
	dsa_close(loader);
	fake_gpu("");
}

/* ---- a device alone ---- */

enum { BATCH = 4, SLOTS = 3, BYTES = 3 * 8 * 8, SLOT = 4096 };

struct alone {
	struct trace_process *process;
	char *memory;
	struct gpu *gpu;
	struct gpu_twins *twins;
	bool inverted; /* its bytes */
};

static void alone_twins(struct alone *alone)
{
	struct gpu_slots slots = {
		.slot_bytes = SLOT, .labels = BATCH * BYTES, .count = SLOTS};
	struct error err = {0};

	slots.start = alone->memory = aligned_alloc(SLOT, SLOTS * SLOT);
	memset(alone->memory, 0, SLOTS * SLOT);
	alone->twins = gpu_twins_open(alone->gpu, &slots, &err);
	assert_string_equal(err.message, "");
}

static void alone_open(struct alone *alone, const struct prep_config *converted)
{
	struct gpu_config config = {
		.ordinal = -1,
		.batch = BATCH,
		.slots = SLOTS,
		.sample_bytes = BYTES,
		.converted = converted,
	};
	struct error err = {0};

	*alone = (struct alone){.process = calloc(1, sizeof(*alone->process))};
	config.process = alone->process;
	alone->gpu = gpu_open(&config, &err);
	assert_string_equal(err.message, "");
	alone_twins(alone);
}

static void alone_close(struct alone *alone)
{
	gpu_twins_close(alone->twins);
	gpu_close(alone->gpu);
	free(alone->memory);
	free(alone->process);
}

TEST(the_programs_primary_context_stays_for_the_loader)
{
	struct fake_program program;
	struct alone alone;
	unsigned flags;
	int active = 0;

	fake_gpu("");
	fake_program_open(&program);
	alone_open(&alone, NULL);
	fake_program_close(&program);
	program.cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	assert_true(active);
	alone_close(&alone);
	program.cuda.cuDevicePrimaryCtxGetState(0, &flags, &active);
	assert_false(active);
}

/* As the driver does in a child of the process that opened it. */
TEST(a_context_that_is_gone_is_said_of_a_buffer)
{
	struct alone alone;
	int status;
	pid_t child;

	fake_gpu("");
	alone_open(&alone, NULL);
	child = fork();
	if (child == 0) {
		struct error err = {0};
		bool opens = gpu_buffer_open(alone.gpu, 100, &err) != NULL;

		_exit(opens || strstr(err.message, "cuCtxPushCurrent") == NULL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	alone_close(&alone);
}

TEST(it_counts_and_says_what_it_does)
{
	struct prep_config to = prep_defaults;
	struct alone alone;
	struct gpu_facts facts;

	to.size = 8;
	fake_gpu("rate=1e7");
	alone_open(&alone, &to);
	facts = gpu_facts(alone.gpu);
	assert_string_equal(facts.name, "cuda:0");
	assert_true(facts.converts);
	assert_false(facts.unpinned);
	assert_int_equal(facts.sample_bytes, 4 * BYTES);
	assert_int_equal(facts.copied_per_sample, BYTES + 8);
	gpu_twins_copy(alone.twins, 0, BATCH);
	gpu_twins_copy(alone.twins, 2, 1);
	assert_int_equal(alone.process->counters[TRACE_device_copies], 2);
	assert_int_equal(alone.process->counters[TRACE_device_bytes],
			 (BATCH + 1) * (BYTES + 8));
	gpu_twins_finish(alone.twins, 0);
	gpu_twins_finish(alone.twins, 2);
	gpu_twins_finish(alone.twins, 2);
	/* 100 ns a byte of samples, in milliseconds as floats; longer where calls come late */
	assert_in_range(alone.process->counters[TRACE_device_copy_ns],
			(BATCH + 1) * BYTES * 100 - 1000, 1000000000);
	alone_close(&alone);
}

/* Whether they are copied again or not. */
TEST(a_program_is_so_many_batches_ahead_as_there_are_slots)
{
	struct fake_program program;
	struct alone alone;
	struct gpu_batch batch;
	cuda_event begin, end;
	char copy[BYTES];
	float ms;

	fake_gpu("");
	alone_open(&alone, NULL);
	fake_program_open(&program);
	assert_int_equal(program.cuda.cuEventCreate(&begin, 0), 0);
	assert_int_equal(program.cuda.cuEventCreate(&end, 0), 0);
	gpu_twins_copy(alone.twins, 0, BATCH);
	gpu_twins_wait(alone.twins, 0, program.stream, &batch, NULL);
	program.cuda.cuEventRecord(begin, program.stream);
	fake_program_step(&program, 200000000, batch.data, BYTES, copy);
	program.cuda.cuEventRecord(end, program.stream);
	for (int i = 0; i < SLOTS; i++)
		gpu_twins_release(alone.twins, 0, program.stream, NULL);
	assert_int_equal(program.cuda.cuEventElapsedTime(&ms, begin, end),
			 CUDA_ERROR_NOT_READY);
	gpu_twins_release(alone.twins, 0, program.stream, NULL);
	assert_int_equal(program.cuda.cuEventElapsedTime(&ms, begin, end), 0);
	fake_program_close(&program);
	alone_close(&alone);
}

/* Of each batch: its copy, its conversion, in the order in which they end. */
static struct fake_cuda_work copies[SLOTS], conversions[SLOTS];
static unsigned copy_count, conversion_count;

static void note_work(const struct fake_cuda_work *work)
{
	if (work->kind == FAKE_KERNEL && conversion_count < SLOTS)
		conversions[conversion_count++] = *work;
	else if (work->bytes == BATCH * (BYTES + 8) && copy_count < SLOTS)
		copies[copy_count++] = *work;
}

static void note_pieces(const struct fake_cuda_work *work)
{
	if (work->kind == FAKE_COPY_IN && copy_count < SLOTS)
		copies[copy_count++] = *work;
}

static void watch_work(fake_cuda_done *done)
{
	void (*watch)(fake_cuda_done *);

	*(void **)&watch = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_watch");
	assert_non_null(watch);
	if (done != NULL)
		copy_count = conversion_count = 0;
	watch(done);
}

/* Copies batches of as many slots in turn, SLOTS in all: of 80 ms each, conversions of 8. */
static void copy_converted(struct alone *alone, uint32_t slots)
{
	struct prep_config to = prep_defaults;

	to.size = 8;
	fake_gpu("rate=1e4");
	alone_open(alone, &to);
	watch_work(note_work);
	for (uint32_t i = 0; i < SLOTS; i++)
		gpu_twins_copy(alone->twins, i % slots, BATCH);
	for (uint32_t i = 0; i < slots; i++)
		gpu_twins_finish(alone->twins, i);
	watch_work(NULL);
	assert_int_equal(copy_count, SLOTS);
	assert_int_equal(conversion_count, SLOTS);
}

TEST(a_batch_is_converted_while_the_next_one_is_copied)
{
	struct alone alone;

	copy_converted(&alone, SLOTS);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_true(conversions[i].start_ns >= copies[i].end_ns);
	for (unsigned i = 0; i + 1 < SLOTS; i++)
		assert_true(copies[i + 1].start_ns < conversions[i].end_ns);
	alone_close(&alone);
}

/* Of a twin that no program has released: its bytes stay until they are converted. */
TEST(a_slot_that_is_copied_again_waits_for_its_conversion)
{
	struct alone alone;

	copy_converted(&alone, 1);
	for (unsigned i = 0; i + 1 < SLOTS; i++)
		assert_true(copies[i + 1].start_ns >= conversions[i].end_ns);
	alone_close(&alone);
}

static void count_call(void *count)
{
	atomic_fetch_add((atomic_uint *)count, 1);
}

/* Copies of 10 ms, calls that come 100 ms late. */
TEST(a_mirrors_next_copy_does_not_wait_for_a_call)
{
	enum { PIECE = 4096 };
	struct error err = {0};
	struct gpu_mirror *mirror;
	atomic_uint called = 0;
	struct alone alone;

	fake_gpu("rate=4.096e5,call=1e8");
	alone_open(&alone, NULL);
	mirror = gpu_mirror_make(alone.gpu, alone.memory, SLOTS * PIECE, &err);
	assert_string_equal(err.message, "");
	watch_work(note_pieces);
	for (uint32_t i = 0; i < SLOTS; i++) {
		gpu_mirror_copy(mirror, i * PIECE, PIECE);
		gpu_mirror_call(mirror, count_call, &called);
	}
	assert_int_equal(gpu_mirror_finish(mirror, &err), 0);
	watch_work(NULL);
	assert_int_equal(called, SLOTS);
	assert_int_equal(copy_count, SLOTS);
	for (unsigned i = 0; i + 1 < SLOTS; i++)
		assert_true(copies[i + 1].start_ns < copies[i].end_ns + 100000000);
	gpu_mirror_close(mirror);
	alone_close(&alone);
	fake_gpu("");
}

TEST(memory_that_can_not_be_registered_is_copied_all_the_same)
{
	struct alone alone;
	struct gpu_batch batch;
	struct error err = {0};

	fake_gpu("register=refused");
	alone_open(&alone, NULL);
	assert_true(gpu_facts(alone.gpu).unpinned);
	memset(alone.memory + SLOT, 7, BATCH * BYTES);
	gpu_twins_copy(alone.twins, 1, BATCH);
	assert_int_equal(gpu_twins_wait(alone.twins, 1, NULL, &batch, &err), 0);
	gpu_twins_finish(alone.twins, 1);
	assert_int_equal(*(const char *)(uintptr_t)(batch.data + BATCH * BYTES - 1), 7);
	alone_close(&alone);
}

/* Fills a slot with a byte of its own again and again. */
static void *keep_copying(void *context)
{
	struct alone *alone = context;
	uintptr_t wrong = 0;

	for (unsigned char i = 0; i < 250; i++) {
		unsigned char value = alone->inverted ? (unsigned char)(i ^ 255) : i;
		struct gpu_batch batch;

		memset(alone->memory, value, BATCH * BYTES);
		gpu_twins_copy(alone->twins, 0, BATCH);
		gpu_twins_wait(alone->twins, 0, NULL, &batch, NULL);
		gpu_twins_finish(alone->twins, 0);
		wrong += *(const unsigned char *)(uintptr_t)batch.data != value;
	}
	return (void *)wrong;
}

/* A ring and its pool: their copies go through the same memory of bytes. */
TEST(two_rings_may_copy_at_once)
{
	struct prep_config to = prep_defaults;
	struct alone one, other;
	pthread_t thread;
	void *wrong;

	to.size = 8;
	to.type = PREP_U8;
	fake_gpu("rate=1e9");
	alone_open(&one, &to);
	other = one;
	other.inverted = true;
	alone_twins(&other);
	assert_int_equal(pthread_create(&thread, NULL, keep_copying, &other), 0);
	assert_null(keep_copying(&one));
	pthread_join(thread, &wrong);
	assert_null(wrong);
	gpu_twins_close(other.twins);
	free(other.memory);
	alone_close(&one);
}

TEST_GROUP(images_setup, images_teardown);
