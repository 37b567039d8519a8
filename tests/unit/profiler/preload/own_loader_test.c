/* What a result tells of a program's own loader, from the page that it left. */
#include "profiler/io_page.h"
#include "profiler/preload/own_loader.h"
#include "profiler/profile.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAINER = 100, WORKER = 101 };

/* Of a process that made so many batches; its start is beside its pid. */
static void page_add(struct io_page *page, size_t at, uint64_t pid, uint64_t batches)
{
	struct io_slot *slot = &page->slots[at];

	slot->owner = pid | UINT64_C(12345) << IO_PID_BITS;
	slot->counters[IO_batches] = batches;
	slot->counters[IO_samples] = 8 * batches;
	slot->counters[IO_cpu_ns] = 1000000 * batches;
	slot->counters[IO_storage_bytes] = 4096;
	slot->counters[IO_seen_bytes] = 900000;
	slot->counters[IO_proc_bytes] = 1000000;
}

/* Of so many epochs; it takes handover_s to hand over a batch. */
static struct profile profile_again(const struct io_page *page, uint64_t starts,
				    double handover_s)
{
	struct profile_process *trainer;
	struct profile profile;

	profile_init(&profile);
	profile.epoch_starts = starts;
	profile.handover_s = handover_s;
	profile.epoch_start_s = .1;
	profile.batch = 12;
	profile.rates[TRACE_REAL].value = 200;
	profile.stalls[STAGE_COMPUTE].value = .5;
	trainer = profile_add_process(&profile);
	assert_non_null(trainer);
	trainer->pid = TRAINER;
	trainer->cpu_s = 7;
	assert_int_equal(own_loader_add(page, &profile), 0);
	return profile;
}

static struct profile profile_of(const struct io_page *page)
{
	return profile_again(page, UNKNOWN, NAN);
}

TEST(workers_are_processes)
{
	struct io_page *page = calloc(1, sizeof(*page));
	struct profile profile;

	assert_non_null(page);
	page_add(page, 0, TRAINER, 2);
	page_add(page, 3, WORKER, 5);
	page_add(page, 4, WORKER + 1, 0); /* only read */
	profile = profile_of(page);
	assert_int_equal(profile.process_count, 2);
	assert_int_equal(profile.processes[0].batches, 2);
	assert_true(profile.processes[0].cpu_s == 7);
	assert_int_equal(profile.processes[1].pid, WORKER);
	assert_string_equal(profile.processes[1].role, "worker");
	assert_int_equal(profile.processes[1].batches, 5);
	assert_int_equal(profile.processes[1].samples, 40);
	assert_true(fabs(profile.processes[1].cpu_s - .005) < 1e-9);
	assert_true(fabs(profile.coverage - .9) < 1e-9);
	assert_int_equal(profile.mapped_files, 0);
	profile_free(&profile);
	for (int i = 0; i < 5; i++)
		page->slots[i].counters[IO_proc_bytes] = 20000; /* beside data */
	profile = profile_of(page);
	assert_true(isnan(profile.coverage));
	profile_free(&profile);
	free(page);
}

TEST(workers_that_persist_save_start_and_end)
{
	struct io_page *page = calloc(1, sizeof(*page));
	struct profile profile;

	assert_non_null(page);
	profile = profile_of(page); /* they persist: no end was seen */
	assert_true(isnan(profile.epoch_saved_s) && isnan(profile.epoch_end_s));
	assert_true(isnan(profile.coverage));
	assert_int_equal(profile.mapped_files, UNKNOWN);
	profile_free(&profile);
	page_add(page, 0, WORKER, 4);
	page->slots[0].counters[IO_batch_ns] = 40000000; /* 10 ms each */
	page->epoch_ends = 4;
	page->epoch_end_ns = 80000000;
	profile = profile_of(page);
	assert_true(fabs(profile.epoch_start_s - (.1 - .03)) <
		    1e-9); /* a step's wait */
	assert_true(fabs(profile.epoch_end_s - .02) < 1e-9);
	assert_true(fabs(profile.epoch_saved_s - (.1 - .01 + .02)) < 1e-9);
	profile_free(&profile);
	page->epoch_first_ns = 160000000; /* of two, which take 100 ms on average */
	profile = profile_again(page, 2, .004);
	assert_true(fabs(profile.epoch_saved_s - (.04 - .01 - .004 + .02)) < 1e-9);
	profile_free(&profile);
	free(page);
}

/* As of one that has libdsa's loader, and a page for its own all the same. */
TEST(where_no_epoch_was_seen_its_start_is_unknown)
{
	struct io_page *page = calloc(1, sizeof(*page));
	struct profile profile;

	assert_non_null(page);
	profile_init(&profile);
	assert_int_equal(own_loader_add(page, &profile), 0);
	assert_true(isnan(profile.epoch_start_s));
	profile_free(&profile);
	free(page);
}

TEST(a_recipe_is_whole_or_lacks_something)
{
	struct io_page *page = calloc(1, sizeof(*page));
	struct profile profile;

	assert_non_null(page);
	page->recipe = (struct io_recipe){.size = 224, .code = "dsa.Loader('x')"};
	profile = profile_of(page); /* it was not told as a whole */
	assert_null(profile.own_recipe.kind);
	profile_free(&profile);
	page->recipe.told = 1;
	profile = profile_of(page);
	assert_string_equal(profile.own_recipe.kind, "train");
	assert_string_equal(profile.own_recipe.code, "dsa.Loader('x')");
	assert_null(profile.own_recipe.lacks);
	profile_free(&profile);
	strcpy(page->recipe.lacks, "RandAugment");
	profile = profile_of(page);
	assert_string_equal(profile.own_recipe.lacks, "RandAugment");
	assert_null(profile.own_recipe.kind);
	assert_null(profile.own_recipe.code);
	profile_free(&profile);
	free(page);
}

/* As a process may leave them that writes where it should not. */
TEST(texts_without_an_end_are_cut)
{
	struct io_page *page = calloc(1, sizeof(*page));
	struct io_recipe *recipe;
	struct profile profile;

	assert_non_null(page);
	recipe = &page->recipe;
	recipe->told = 1;
	memset(recipe->folder, 'f', sizeof(recipe->folder));
	memset(recipe->code, 'c', sizeof(recipe->code));
	profile = profile_of(page);
	assert_int_equal(strlen(profile.own_recipe.folder), sizeof(recipe->folder) - 1);
	assert_int_equal(strlen(profile.own_recipe.code), sizeof(recipe->code) - 1);
	profile_free(&profile);
	memset(recipe->lacks, 'l', sizeof(recipe->lacks));
	profile = profile_of(page);
	assert_int_equal(strlen(profile.own_recipe.lacks), sizeof(recipe->lacks) - 1);
	profile_free(&profile);
	free(page);
}
