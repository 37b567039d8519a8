/* model_first_workers_test.c - predictions of runs without workers, and of those that they are
 * given. */
#include "models/predict/model.h"
#include "tests/lib/close_to.h"
#include "tests/lib/known_run.h"
#include "tests/lib/test.h"
#include "tests/lib/torch_run.h"

#include <math.h>
#include <string.h>

TEST(predicts_workers_where_the_trainer_made_its_batches)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile profile;

	run.workers = 0;
	torch_run_expect(&run, &change, 1 / (1. / TORCH_RUN_RATE + 10 * MS));
	change.workers = 1;
	torch_run_expect(&run, &change, 100);
	change.workers = 2;
	torch_run_expect(&run, &change, 200);
	change.workers = 0;
	change.gpu_speed = 2;
	torch_run_expect(&run, &change, 1 / (.5 / TORCH_RUN_RATE + 10 * MS));
	torch_run_make(&profile, &run);
	assert_null(known_run_predict(&profile, &change)->why);
	change.workers = 1;
	assert_non_null(
		strstr(known_run_predict(&profile, &change)->why, "hand batches"));
	profile_free(&profile);
}

/* Batches are made, or taken over from workers, while another thread trains. */
TEST(a_thread_that_reads_ahead_makes_batches_meanwhile)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;

	run.reads_ahead = true;
	run.handover_s = TORCH_RUN_BATCH * 1 * MS;
	torch_run_expect(&run, &change, 200);
	run.workers = 0;
	torch_run_expect(&run, &change, 100);
	change.workers = 2;
	torch_run_expect(&run, &change, 200);
	change.workers = 0;
	run.latency_s = .5 * MS;
	torch_run_expect(&run, &change, 300);
	change.gpu_speed = 4;
	torch_run_expect(&run, &change, 400);
}

/* A worker pickles each batch, and the trainer unpickles it: as long as was measured and .5 ms,
 * half to twice that; and of what workers take longer the trainer takes as much. */
TEST(the_first_workers_hand_their_batches_over)
{
	struct torch_run run = torch_run_sleeper;
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	run.workers = 0;
	torch_run_make(&profile, &run);
	profile.share_s = TORCH_RUN_BATCH * 1 * MS;
	profile.unpickle_s = 1.5 * MS;
	change.workers = 1;
	prediction = known_run_predict(&profile, &change);
	close_to(prediction->per_s.value * 11 * MS, 1, .01);
	close_to(prediction->per_s.low * 12 * MS, 1, .03);
	close_to(prediction->per_s.high * 10.5 * MS, 1, .03);
	change.workers = 8;
	prediction = known_run_predict(&profile, &change);
	close_to(prediction->per_s.value *
			 (1. / TORCH_RUN_RATE + 2 * MS / TORCH_RUN_BATCH),
		 1, .01);
	close_to(prediction->per_s.low *
			 (1. / TORCH_RUN_RATE + 1 * MS + 4 * MS / TORCH_RUN_BATCH),
		 1, .03);
	close_to(prediction->per_s.high *
			 (1. / TORCH_RUN_RATE + 1 * MS / TORCH_RUN_BATCH),
		 1, .03);
	assert_non_null(strstr(prediction->why, "twice as long"));
	torch_run_add_part(&profile, "Crop", 1.5 * MS);
	torch_run_add_part(&profile, "decode", .5 * MS);
	change.without = profile.parts[0].name;
	change.workers = 1;
	prediction = known_run_predict(&profile, &change);
	close_to(prediction->per_s.value * 9.5 * MS, 1, .02);
	change.without = NULL;
	change.workers = 8;
	profile.share_s = NAN;
	prediction = known_run_predict(&profile, &change);
	assert_true(prediction->per_s.low / TORCH_RUN_RATE > .97);
	assert_non_null(strstr(prediction->why, "was not measured"));
	profile_free(&profile);
}

/* One thread does all: more cores than one are no use to it, and one is no limit. */
TEST(cores_do_not_limit_a_trainer_that_makes_its_batches)
{
	const struct torch_run run = {.cpu_s = 5 * MS, .latency_s = .01 * MS};
	struct profile_change change = PROFILE_NO_CHANGE;
	struct profile_prediction *prediction;
	struct profile profile;

	torch_run_make(&profile, &run);
	for (change.cores = 1; change.cores <= 2; change.cores++) {
		prediction = known_run_predict(&profile, &change);
		assert_true(fabs(prediction->speedup.value - 1) < .01);
		assert_int_equal(prediction->limit.id, STAGE_PREP);
	}
	change.cores = 1;
	change.workers = 2;
	assert_int_equal(known_run_predict(&profile, &change)->limit.id,
			 LIMITED_BY_CORES);
	change.workers = 0;
	change.jobs = 2;
	assert_int_equal(known_run_predict(&profile, &change)->limit.id,
			 LIMITED_BY_CORES);
	profile_free(&profile);
}

/* By what workers took in cached windows, and cores that are all the same. */
