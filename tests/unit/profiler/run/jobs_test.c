#include "profiler/run/conductor/conductor.h"
#include "profiler/run/jobs.h"
#include "profiler/session/epoch_parts.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

/* A session of `blocks` real windows of 10 steps each, from block `first` on. */
static struct trace *job_of(double step_ms, int first, int blocks)
{
	struct trace *trace = session_new();

	assert_non_null(trace);
	for (int block = first; block < first + blocks; block++) {
		const struct session_window did = {.kind = TRACE_REAL,
						   .block = block,
						   .steps = 10,
						   .samples = BATCH,
						   .step_ms = step_ms,
						   .fetched = 10 * BATCH,
						   .prepared = 10 * BATCH};
		struct trace_window *window = session_add(trace, &did);

		window->end.counters[TRACE_prep_cpu_ns] =
			window->begin.counters[TRACE_prep_cpu_ns] +
			10 * BATCH * 1000000;
	}
	return trace;
}

static char **copy(const char *const *words)
{
	return profile_copy_texts((char *const *)(uintptr_t)words);
}

TEST(the_number_replaces_its_mark)
{
	static const char *const command[] = {"./train", "--out=run-{job}",
					      "{job}{job}", "{jo}", NULL};
	char **words = jobs_command((char *const *)(uintptr_t)command, 17);

	assert_string_equal(words[0], "./train");
	assert_string_equal(words[1], "--out=run-17");
	assert_string_equal(words[2], "1717");
	assert_string_equal(words[3], "{jo}");
	assert_null(words[4]);
	profile_free_texts(words);
}

TEST(rates_of_common_blocks_add_up)
{
	struct trace *jobs[] = {job_of(32, 0, 10), job_of(16, 0, 10)};
	struct interval all;
	double cpu_s;

	assert_int_equal(
		jobs_together((const struct trace *const *)jobs, 2, &all, &cpu_s), 0);
	assert_true(fabs(all.value - 3000) < 1e-6);
	assert_true(all.low < 3000 && all.high > 3000 && all.high < 3030);
	assert_true(fabs(cpu_s - 1e-3) < 1e-9);
	session_free(jobs[0]);
	session_free(jobs[1]);
}

TEST(blocks_that_one_has_not_do_not_count)
{
	struct trace *jobs[] = {job_of(32, 0, 10), job_of(16, 4, 10)};
	const struct session_window slow = {.kind = TRACE_REAL,
					    .block = 20,
					    .steps = 10,
					    .samples = BATCH,
					    .step_ms = 320,
					    .fetched = 10 * BATCH,
					    .prepared = 10 * BATCH};
	struct interval all;
	double cpu_s;

	session_add(jobs[0], &slow); /* the other left before */
	jobs_together((const struct trace *const *)jobs, 2, &all, &cpu_s);
	assert_true(fabs(all.value - 3000) < 1e-6);
	session_free(jobs[1]);
	jobs[1] = job_of(16, 30, 4);
	jobs_together((const struct trace *const *)jobs, 2, &all, &cpu_s);
	assert_true(isnan(all.value));
	session_free(jobs[0]);
	session_free(jobs[1]);
}

/* Jobs of two caches, one of which has its hits drawn; 12 blocks have four parts twice. */
TEST(parts_of_the_epoch_weigh_alike)
{
	struct trace *jobs[] = {job_of(32, 0, 12), session_new()};
	struct interval all;
	double cpu_s;

	for (int block = 0; block < 12; block++) {
		unsigned part = epoch_part(0, (unsigned)block);
		const struct session_window did = {.kind = TRACE_REAL,
						   .flags = TRACE_DRAW,
						   .block = block,
						   .hit = part / 8.,
						   .steps = 8 + part,
						   .samples = BATCH,
						   .step_ms = 23 - 2. * part,
						   .fetched = (8 - part) * BATCH,
						   .prepared = (8 + part) * BATCH};

		session_add(jobs[1], &did);
	}
	jobs_together((const struct trace *const *)jobs, 2, &all, &cpu_s);
	assert_true(fabs(all.value - 3000) < 1e-3);
	assert_true(all.low > 2990 && all.high < 3010);
	session_free(jobs[0]);
	session_free(jobs[1]);
}

TEST(a_job_is_told_from_its_own_result)
{
	const struct conductor_job ended = {.target_status = 137,
					    .left = "was killed (SIGKILL)"};
	static const char *const command[] = {"train", "--seed={job}", "a b", NULL};
	struct profile profile, own;
	struct profile_window *window;

	profile_init(&profile);
	profile_init(&own);
	own.command = copy(command);
	own.rates[TRACE_REAL] = (struct interval){900, 890, 910};
	own.stalls[STAGE_PREP] = (struct interval){.3, .29, .31};
	own.limit.id = STAGE_PREP;
	window = profile_add_window(&own);
	window->kind.id = TRACE_REAL;
	window->used = true;
	window->length_s = 2;
	window->blocked_s = .5;
	assert_int_equal(jobs_add(&profile, 3, &own, &ended), 0);
	assert_int_equal(profile.job_count, 1);
	assert_int_equal(profile.jobs[0].job, 3);
	assert_string_equal(profile.jobs[0].command, "train --seed=3 'a b'");
	assert_int_equal(profile.jobs[0].target_status, 137);
	assert_true(profile.jobs[0].rates[TRACE_REAL].low == 890);
	assert_true(profile.jobs[0].blocked_share == .25);
	assert_string_equal(profile.jobs[0].waits_for, "prep");
	assert_string_equal(profile.jobs[0].why,
			    "it was killed (SIGKILL) while the others went on");
	own.limit.id = STAGE_COMPUTE;
	assert_int_equal(jobs_add(&profile, 4, &own, NULL), 0);
	assert_null(profile.jobs[1].waits_for);
	assert_null(profile.jobs[1].why);
	profile_free(&own);
	profile_free(&profile);
}

TEST(batches_ahead_are_of_the_job_s_own_size)
{
	struct trace *job = job_of(10, 0, 2);
	struct profile_job found = {0};

	jobs_set_shared(&found, job);
	assert_true(isnan(found.ahead_batches));
	for (int i = 0; i < 2; i++) {
		job->windows[i].end.counters[TRACE_delivered_batches] += 10;
		job->windows[i].end.counters[TRACE_ahead_samples] +=
			10 * BATCH * (i + 1);
	}
	jobs_set_shared(&found, job);
	assert_true(found.ahead_batches == 1.5);
	session_free(job);
}

TEST(a_job_that_left_its_shared_loader_says_so)
{
	struct trace *job = job_of(10, 0, 2);
	struct profile_job found = {0};

	jobs_set_shared(&found, job);
	assert_false(found.dropped);
	job->processes[job->driver - 1].counters[TRACE_went_alone] = 1;
	jobs_set_shared(&found, job);
	assert_true(found.dropped);
	session_free(job);
}

TEST(who_is_held_up_waits_for_the_one_that_is_least)
{
	static const double held_up[] = {.8, .01, .5, .02};
	struct profile profile;

	profile_init(&profile);
	for (int i = 0; i < 4; i++)
		assert_non_null(profile_add_job(&profile));
	profile_text(&profile.jobs[3].waits_for, "prep");
	assert_int_equal(jobs_write_waits(&profile, held_up), 0);
	assert_string_equal(profile.jobs[0].waits_for, "job 1");
	assert_non_null(strstr(profile.jobs[0].why, "80%"));
	assert_null(profile.jobs[1].waits_for);
	assert_string_equal(profile.jobs[2].waits_for, "job 1");
	assert_string_equal(profile.jobs[3].waits_for, "prep");
	profile_free(&profile);
}

TEST(memory_short_is_told)
{
	static const char *const command[] = {"train", NULL};
	struct trace *job = job_of(10, 0, 2);
	struct interval all;
	double cpu_s;

	nomem_at(1);
	assert_null(copy(command));
	nomem_at(1);
	assert_int_equal(
		jobs_together((const struct trace *const[]){job}, 1, &all, &cpu_s),
		-ENOMEM);
	nomem_at(0);
	session_free(job);
}
