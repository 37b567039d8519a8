/* driven.c - opens sessions and loaders, asks for windows and goes through them. */
#include "tests/lib/driven.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct driven driven;
static char home[TREE_PATH];

int driven_setup(void **state)
{
	char session[PATH_MAX];

	(void)state;
	tree_make(home);
	snprintf(session, sizeof(session), "%s/session", home);
	driven.trace = trace_create(session, 7, NULL);
	setenv("DSA_SESSION", session, 1);
	setenv("XDG_CACHE_HOME", home, 1);
	return driven.trace != NULL ? 0 : -1;
}

int driven_teardown(void **state)
{
	(void)state;
	dsa_close(driven.loader);
	driven.loader = NULL;
	trace_unmap(driven.trace);
	tree_remove(home);
	unsetenv("DSA_SESSION");
	return 0;
}

/* One small picture under as many names as there are samples. */
static void make_pictures(const char *folder)
{
	const struct picture picture = {.width = 24, .height = 20};
	char first[PATH_MAX], name[PATH_MAX];
	size_t size;
	unsigned char *jpeg = picture_jpeg(&picture, &size);
	FILE *file;

	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(first, sizeof(first), "%s/0.jpg", folder);
	file = fopen(first, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(jpeg, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(jpeg);
	for (unsigned i = 1; i < DRIVEN_SAMPLES; i++) {
		snprintf(name, sizeof(name), "%s/%u.jpg", folder, i);
		assert_int_equal(link(first, name), 0);
	}
}

void driven_open(const char *settings)
{
	char pictures[TREE_PATH + 16];
	const struct dsa_config config = {.dataset = pictures,
					  .batch = DRIVEN_BATCH,
					  .workers = 2,
					  .prefetch = 3,
					  .size = 16,
					  .seed = 5};
	char why[DSA_WHY] = "";

	snprintf(pictures, sizeof(pictures), "%s/pictures", home);
	if (access(pictures, F_OK) != 0)
		make_pictures(pictures);
	setenv("DSA_LOADER", settings, 1);
	if (dsa_open(&config, &driven.loader, why) < 0)
		fail_msg("%s", why);
	unsetenv("DSA_LOADER");
}

struct trace_window *driven_ask(enum trace_kind kind)
{
	uint32_t at = driven.trace->window_count;
	struct trace_window *window = &driven.trace->windows[at];

	window->kind = kind;
	window->settle = 2;
	window->min_steps = 8;
	window->length_ns = 1000000;
	window->stage = 30 * DRIVEN_BATCH;
	window->block = UINT32_MAX;
	atomic_store(&driven.trace->window_count, at + 1);
	return window;
}

void driven_train(const struct trace_window *window, struct driven_audit *audit,
		  unsigned most)
{
	struct dsa_batch batch;

	for (unsigned i = 0; i < most; i++) {
		if (window != NULL && atomic_load(&window->state) >= TRACE_DONE)
			return;
		if (dsa_next(driven.loader, &batch) <= 0)
			return;
		audit->batches++;
		audit->repeated += batch.repeated;
		for (uint32_t s = 0; s < batch.count && !batch.repeated; s++)
			audit->seen[batch.samples[s]]++;
		assert_int_equal(dsa_release(driven.loader, &batch), 0);
	}
}

uint64_t driven_counted(const struct trace_window *window, enum trace_counter counter)
{
	return window->end.counters[counter] - window->begin.counters[counter];
}
