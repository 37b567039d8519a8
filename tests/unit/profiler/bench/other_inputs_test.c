/* other_inputs_test.c - what is measured of other inputs never costs a result. */
#include "profiler/bench/other_inputs.h"
#include "profiler/bench/own_pictures.h"
#include "profiler/bench/own_recipe.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"
#include "tests/lib/images.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a run that waits for prep of JPEGs, with time for the fewest samples. */
static size_t measured(unsigned failing)
{
	struct trace *trace = session_new();
	struct profile profile;
	size_t recipes;

	assert_non_null(trace);
	snprintf(trace->loader.dataset, sizeof(trace->loader.dataset), "%s",
		 images_good);
	snprintf(trace->loader.prep, sizeof(trace->loader.prep), "image");
	trace->loader.size = 16;
	profile_init(&profile);
	profile.status.id = STATUS_COMPLETE;
	profile.stalls[STAGE_PREP].value = .5;
	profile.budget_s = 0;
	nomem_at(failing);
	other_inputs_measure(trace, &profile);
	nomem_at(0);
	recipes = profile.recipe_count;
	profile_free(&profile);
	session_free(trace);
	return recipes;
}

TEST(other_inputs_are_measured)
{
	assert_int_equal(measured(0), 6);
}

TEST(without_memory_there_are_fewer)
{
	for (unsigned nth = 1; nth < 80; nth++)
		assert_true(measured(nth) <= 6);
	assert_int_equal(measured(1), 0);
}

/* A run of torch's loader whose pictures libdsa could prepare. */
static struct profile own_recipe_of(const char *folder, double prep_stall,
				    uint64_t batch)
{
	struct profile profile;

	profile_init(&profile);
	profile.status.id = STATUS_COMPLETE;
	profile.stalls[STAGE_PREP].value = prep_stall;
	profile.batch = batch;
	profile.cores = 1;
	profile.own_recipe.size = 16;
	profile_text(&profile.own_recipe.kind, "train");
	profile_text(&profile.own_recipe.type, "float32");
	profile_text(&profile.own_recipe.folder, "%s", folder);
	own_recipe_measure(&profile);
	return profile;
}

TEST(libdsa_is_measured_in_place_of_a_loader)
{
	struct profile profile = own_recipe_of(images_good, .5, 2);
	const struct interval *cpu_s = &profile.own_recipe.cpu_s;

	assert_true(cpu_s->low <= cpu_s->value && cpu_s->value <= cpu_s->high);
	assert_true(cpu_s->value > 0 && profile.own_recipe.per_s.value > 0);
	profile_free(&profile);
}

/* It would take minutes, and what memory there is. */
TEST(of_large_batches_smaller_ones_are_measured)
{
	struct profile profile = own_recipe_of(images_good, .5, 60000);

	assert_true(profile.own_recipe.per_s.value > 0);
	profile_free(&profile);
}

TEST(what_gives_no_batches_is_not_measured)
{
	struct profile none = own_recipe_of("/nowhere", .5, 2);
	struct profile fast = own_recipe_of(images_good, 0, 2);

	assert_true(isnan(none.own_recipe.cpu_s.value));
	assert_true(isnan(fast.own_recipe.cpu_s.value));
	profile_free(&none);
	profile_free(&fast);
}

/* PSNR of pictures that are all black, of one file of images_good; NAN: unknown. */
static double compared(struct io_page *page, uint32_t count, const char *file)
{
	struct profile profile;
	double psnr;

	page->pictures.count = count;
	snprintf(page->pictures.paths[0], IO_PATH, "%s/%s", images_good, file);
	profile_init(&profile);
	profile_text(&profile.own_recipe.kind, "evaluate");
	profile.own_recipe.size = 16;
	own_pictures_compare(page, &profile);
	assert_true(isnan(profile.own_recipe.psnr) ==
		    (profile.own_recipe.pictures == UNKNOWN));
	psnr = profile.own_recipe.psnr;
	profile_free(&profile);
	return psnr;
}

TEST(pixels_are_compared)
{
	int memory;
	struct io_page *page = io_page_memory(&memory);
	const char *first = "class0/image00.jpg";
	double black;

	assert_non_null(page);
	close(memory);
	assert_true(isnan(compared(page, 0, first)));
	assert_true(isnan(compared(page, 1, "nowhere")));
	black = compared(page, 1, first);
	assert_true(black > 0 && black < PROFILE_SAME_PSNR);
	memset(page->pictures.pixels, 255, 16 * 16 * 3);
	assert_true(fabs(compared(page, 1, first) - black) > .1);
	io_page_unmap(page);
}

TEST(a_signal_that_waits_ends_it)
{
	sigset_t interrupt;
	int number;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	pthread_kill(pthread_self(), SIGINT);
	assert_int_equal(measured(0), 0);
	assert_int_equal(sigwait(&interrupt, &number), 0);
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

TEST_GROUP(images_setup, images_teardown);
