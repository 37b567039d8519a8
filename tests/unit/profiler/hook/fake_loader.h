/*
 * fake_loader.h - a loader with its hook and its preload, in one thread: what a test of
 * profiler/hook/ asks for batches, and what it was asked for. Included by one file of a
 * test program.
 */
#ifndef DSA_FAKE_LOADER_H
#define DSA_FAKE_LOADER_H

#include "loader/base/clock.h"
#include "profiler/hook/hook.h"
#include "profiler/io/dsa_io.h"
#include "profiler/session/window.h"
#include "tests/lib/driven.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORKERS = 2,
	SAMPLES = 1000,
	STEPS_EPOCH = 125,
	FILE_BYTES = 100000, /* of a batch, which reads one file */
	LISTED = 7,          /* key of the first batch of the list */
	OWN = 10000,         /* and of what comes from the stream */
};

static struct fake {
	struct io_page *page;
	char log[1024];
	int source, last_source;
	uint32_t listed, next;
	uint64_t storage;  /* bytes of a batch that come from storage */
	uint64_t more;     /* bytes that a batch reads beyond what it did first */
	uint64_t more_of;  /* key of the only batch that does; 0: all do */
	uint64_t resident; /* of the list's bytes: per mille */
	bool others;       /* it is nobody's to know */
	bool blind;        /* no read is seen */
	uint32_t unlisted; /* parts of files for which a list has no room */
	uint32_t flags;    /* of batches, */
	uint64_t loader;   /* and whose they are */
	const char *fails; /* the call that does */
	int still;         /* what that returns */
	unsigned stills;
	uint32_t list_room; /* batches of an epoch; 0: enough */
	uint32_t ranks;     /* that have a page */
} fake;

static inline void said(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void said(const char *format, ...)
{
	size_t length = strlen(fake.log);
	va_list args;

	va_start(args, format);
	vsnprintf(fake.log + length, sizeof(fake.log) - length, format, args);
	va_end(args);
}

/* ---- in place of the preload ---- */

struct io_page *dsa_io_page(void)
{
	return fake.page;
}

struct io_page *dsa_io_first_page(void)
{
	return fake.page;
}

int dsa_io_rank(uint32_t rank)
{
	return rank < fake.ranks;
}

int dsa_io_list_read(double share, uint64_t seed)
{
	(void)seed;
	said(" read%.0f", 100 * share);
	return 0;
}

int dsa_io_list_evict(double share, uint64_t seed, uint64_t *bytes)
{
	(void)seed;
	*bytes = (uint64_t)(share * fake.listed * FILE_BYTES);
	said(" evict%.0f", 100 * share);
	return 0;
}

int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident)
{
	*bytes = (uint64_t)fake.listed * FILE_BYTES;
	*resident = *bytes * fake.resident / 1000;
	return fake.others ? -EPERM : 0;
}

void dsa_io_list_clear(void)
{
	said(" clear");
}

static inline bool fake_reads_more(uint64_t key)
{
	return !fake.page->listing && (fake.more_of == 0 || fake.more_of == key);
}

/* A process makes a batch. */
static inline void make(uint64_t key)
{
	uint64_t at = fake.page->batch_count;
	struct io_batch *batch = &fake.page->batches[at % IO_BATCHES];

	batch->key = key;
	batch->loader = fake.loader;
	batch->begin_ns = clock_now();
	batch->end_ns = batch->begin_ns + 10;
	batch->io_ns = 5;
	batch->digest = key * 3;
	batch->bytes =
		fake.blind ? 0 : FILE_BYTES + (fake_reads_more(key) ? fake.more : 0);
	batch->storage_bytes = fake.storage;
	batch->opens = 1;
	batch->samples = DRIVEN_BATCH;
	batch->pid = 42;
	batch->flags = fake.flags;
	fake.page->slots[0].counters[IO_samples] += DRIVEN_BATCH;
	fake.page->slots[0].counters[IO_bytes] += batch->bytes;
	batch->number = at + 1;
	fake.page->batch_count = at + 1;
}

/* ---- in place of Python ---- */

static inline int fake_does(const char *what, int result)
{
	said(" %s", what);
	return fake.fails != NULL && strcmp(fake.fails, what) == 0 ? -1 : result;
}

static inline int fake_drain(void)
{
	fake.source = -1;
	return fake_does("drain", 0);
}

static inline int fake_list(uint32_t batches)
{
	if (driven.trace->loader.no_list[0] != '\0')
		return fake_does("copy", 0);
	assert_true(fake.page->listing);
	assert_false(fake.page->throttled);
	fake.listed = batches;
	fake.page->dropped_ranges += fake.unlisted;
	for (uint32_t i = 0; i < batches; i++)
		make(LISTED + i);
	return fake_does("list", fake.list_room > 0 ? 0 : (int)batches);
}

static inline int fake_start(uint32_t source)
{
	static const char *const names[] = {"stream", "list!", "pool", "loaded"};

	assert_int_equal(fake.source, -1);
	fake.source = (int)source;
	fake.next = 0;
	return fake_does(names[source], 0);
}

static inline int fake_still(void)
{
	fake.stills++;
	return fake.still;
}

/* As many batches as there are samples for; each reads a file. */
static inline int fake_count(uint32_t samples)
{
	assert_int_equal(fake.source, -1);
	for (uint32_t i = 0; i < samples; i += DRIVEN_BATCH) {
		make(OWN + i);
		fake.page->slots[0].counters[IO_opens]++;
		fake.page->slots[0].counters[IO_reads] += 2;
		dsa_hook_counted(DRIVEN_BATCH);
	}
	return fake_does("count", 0);
}

/* As an own one and a copy of it, of which there are 4 workers at the most. */
static inline int fake_make(uint32_t workers, uint64_t ns)
{
	(void)ns;
	if (workers > 4)
		return fake_does("make!", 1);
	for (uint32_t i = 0; i < 4; i++)
		make(LISTED + i);
	said(" make%u", workers);
	return 0;
}

static const struct hook_calls fake_calls = {fake_drain, fake_list,  fake_start,
					     fake_still, fake_count, fake_make};
static const struct hook_about fake_about = {
	.kind = TRACE_TORCH,
	.dataset = "/pictures",
	.source = "torch 1.13",
	.samples = SAMPLES,
	.steps_per_epoch = STEPS_EPOCH,
	.batch = DRIVEN_BATCH,
	.workers = WORKERS,
	.prefetch = 2,
};

/* The program's step; false: it is to end. */
static inline bool fake_step(void)
{
	if (dsa_hook_request(clock_now()) == 0)
		return false;
	if (fake.source == HOOK_LIST)
		make(LISTED + fake.next++ % fake.listed);
	if (fake.source == HOOK_STREAM)
		make(OWN + fake.next++);
	dsa_hook_delivered(DRIVEN_BATCH, 1);
	return true;
}

static inline void fake_train(const struct trace_window *window)
{
	for (int i = 0; i < 100000 && window->state < TRACE_DONE; i++)
		assert_true(fake_step());
	assert_true(window->state >= TRACE_DONE);
}

static inline int begin_page(void **state)
{
	if (driven_setup(state) < 0)
		return -1;
	fake = (struct fake){.page = calloc(1, sizeof(*fake.page)),
			     .source = HOOK_STREAM,
			     .resident = 1000};
	if (fake.page == NULL)
		return -1;
	make(1);
	make(2);
	return 0;
}

static inline int begin(void **state)
{
	return begin_page(state) < 0 ? -1 : dsa_hook_open(&fake_about, &fake_calls);
}

static inline int end(void **state)
{
	dsa_hook_close();
	free(fake.page);
	return driven_teardown(state);
}

static inline struct trace_window *asked(enum trace_kind kind, uint32_t block,
					 uint32_t flags)
{
	struct trace_window *window = driven_ask(kind);

	window->block = block;
	window->flags = flags;
	return window;
}

static inline bool proven(const struct trace_window *raw, const char **why)
{
	static struct window window;

	window_measure(driven.trace, (unsigned)(raw - driven.trace->windows), &window);
	if (why != NULL)
		*why = window.why;
	if (!window.certified)
		print_message("%s\n", window.why);
	return window.certified;
}

/* Of the hook and of the preload; what comes behind the last window is no matter. */
static inline void assert_asked(const char *log)
{
	fake.log[strlen(log)] = '\0';
	assert_string_equal(fake.log, log);
}

#endif
