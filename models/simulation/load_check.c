/* load_check.c - refuses loads that nothing can be simulated of. */
#include "models/simulation/load_check.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "models/simulation/simulation.h"

#include <errno.h>

enum { PLACES = 1 << 26 }; /* of all slots of all jobs; they take 28 bytes each */

struct rule {
	bool kept;
	const char *member, *wanted;
};

#define AMOUNT_MOST 1e9 /* more than any time; sums and products stay finite */

static bool load_check_amount(double value)
{
	return value >= 0 && value <= AMOUNT_MOST;
}

static bool load_check_rate(double value)
{
	return value >= .001 && value <= AMOUNT_MOST;
}

static int load_check_number(const struct rule *rules, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!rules[i].kept)
			return error_set(err, EINVAL,
					 "the simulated load's %s must be %s",
					 rules[i].member, rules[i].wanted);
	return 0;
}

#define CHECK(rules, err)                                                              \
	load_check_number(rules, sizeof(rules) / sizeof((rules)[0]), err)

static int check_stream(const struct simulation_load *load, struct error *err)
{
	const struct rule rules[] = {
		{load->dataset > 0, "dataset", "1 sample at least"},
		{load->batch > 0, "batch", "1 sample at least"},
		{load->ahead > 0, "ahead", "1 batch at least"},
		{(uint64_t)load->ahead * load->batch <= PLACES, "ahead",
		 "at most 2^26 samples in all"},
		{load->draws != NULL && load->draw_count > 0, "draws", "1 at least"},
		{load->share >= 0 && load->share <= 1, "share", "0 to 1"},
		{(unsigned)load->policy < CACHE_IDS, "policy", "one of CACHE_POLICIES"},
	};

	return CHECK(rules, err);
}

static int check_draws(const struct simulation_load *load, struct error *err)
{
	for (size_t i = 0; i < load->draw_count; i++) {
		const struct profile_draw *draw = &load->draws[i];
		bool timed = isnan(draw->fetch_s) || load_check_amount(draw->fetch_s);

		if (!timed || !load_check_amount(draw->prep_s) ||
		    draw->bytes > INT32_MAX)
			return error_set(err, EINVAL,
					 "the simulated load's draws[%zu] must have "
					 "times of 0 s or more, and less than 2 GiB",
					 i);
	}
	return 0;
}

static int check_stages(const struct simulation_load *load, struct error *err)
{
	const struct rule rules[] = {
		{load->depth > 0, "depth", "1 read at least"},
		{load->fetch_threads > 0 && load->fetch_threads <= load->depth,
		 "fetch_threads", "1 to depth"},
		{load_check_amount(load->fetch_cpu_s), "fetch_cpu_s", "0 to 1e9 s"},
		{load_check_amount(load->fetch_scale), "fetch_scale", "0 to 1e9"},
		{load_check_amount(load->latency_s), "latency_s", "0 to 1e9 s"},
		{load_check_amount(load->hit_s), "hit_s", "0 to 1e9 s"},
		{load_check_amount(load->answer_s), "answer_s", "0 to 1e9 s"},
		{load->answer_rate == 0 || load_check_rate(load->answer_rate),
		 "answer_rate", "0.001 to 1e9 a second, or 0"},
		{load->bandwidth >= 1, "bandwidth", "1 byte/s at least, or INFINITY"},
		{load->workers > 0, "workers", "1 at least"},
		{load_check_amount(load->prep_scale), "prep_scale", "0 to 1e9"},
		{load_check_amount(load->wait_scale), "wait_scale", "0 to 1e9"},
		{load_check_amount(load->delay_s), "delay_s", "0 to 1e9 s"},
		{load_check_amount(load->copy_s), "copy_s", "0 to 1e9 s"},
		{load_check_amount(load->compute_cpu_s), "compute_cpu_s", "0 to 1e9 s"},
		{load_check_amount(load->compute_s), "compute_s", "0 to 1e9 s"},
		{load->compute_threads > 0, "compute_threads", "1 at least"},
		{load->workers <= SIMULATION_THREADS &&
			 load->depth <= SIMULATION_THREADS &&
			 load->compute_threads <= SIMULATION_THREADS &&
			 load->workers + load->depth + load->compute_threads <=
				 SIMULATION_THREADS,
		 "workers, depth and compute_threads", "512 together at most"},
		{load->speed != NULL, "speed", "given"},
		{load->speeds > 1, "speeds", "2 at least: speed[1] is one thread's"},
	};

	return CHECK(rules, err);
}

static int check_makers(const struct simulation_load *load, struct error *err)
{
	bool pools = load->makers == MAKERS_POOLS;
	bool trainer = load->makers == MAKERS_TRAINER;
	const struct rule rules[] = {
		{pools || load->depth == load->workers, "depth",
		 "the number of workers, where each makes whole batches"},
		{pools || !load->shared, "shared",
		 "false where workers make whole batches"},
		{!trainer || load->workers == 1, "workers",
		 "1 where the consumer makes the batches"},
		{!trainer || load->ahead == 1, "ahead",
		 "1 where the consumer makes the batches"},
	};

	return CHECK(rules, err);
}

static int check_speeds(const struct simulation_load *load, struct error *err)
{
	for (size_t m = 1; m < load->speeds; m++)
		if (!(load->speed[m] > 0 && load->speed[m] < INFINITY))
			return error_set(
				err, EINVAL,
				"the simulated load's speed[%zu] must be above 0", m);
	return 0;
}

static uint64_t load_check_jobs_of(const struct simulation_load *load)
{
	return load->jobs > 1 ? load->jobs : 1;
}

/* Slots of all pipelines. */
static uint64_t slots_of(const struct simulation_load *load)
{
	return load->shared ? load->window : load_check_jobs_of(load) * load->ahead;
}

static int load_check_jobs(const struct simulation_load *load, struct error *err)
{
	bool synthetic = load->loaded || load->no_prep;
	bool works = load->compute_cpu_s > 0 || load->compute_s > 0;
	const struct rule rules[] = {
		{load->jobs <= SIMULATION_JOBS, "jobs", LIMIT_RANGE(LIMIT_JOBS)},
		{slots_of(load) <= PLACES / load->batch, "jobs",
		 "so few that their slots hold at most 2^26 samples in all"},
		{!load->shared || load->window >= load->ahead, "window",
		 "as many as ahead at least"},
		{load->joint_bandwidth == 0 || load->joint_bandwidth >= 1,
		 "joint_bandwidth", "1 byte/s at least, or 0"},
		{load_check_jobs_of(load) == 1 || !(load->loaded || load->no_consumer),
		 "jobs", "1 where prep is alone"},
		{!load->no_consumer || !synthetic, "no_consumer",
		 "false where batches are synthetic"},
		{!(load->loaded && load->no_prep), "loaded", "false without prep"},
		{works || !synthetic, "compute_s",
		 "above 0 where batches cost nothing"},
	};

	if (CHECK(rules, err) < 0)
		return -EINVAL;
	for (unsigned i = 0;
	     load->job_compute_s != NULL && i < load_check_jobs_of(load); i++)
		if (!load_check_amount(load->job_compute_s[i]))
			return error_set(
				err, EINVAL,
				"the simulated load's job_compute_s[%u] must be "
				"0 to 1e9 s",
				i);
	return 0;
}

int simulation_check(const struct simulation_load *load, uint64_t samples,
		     struct error *err)
{
	if (samples == 0)
		return error_set(err, EINVAL, "there are no samples to simulate");
	if (check_stream(load, err) < 0 || check_draws(load, err) < 0 ||
	    check_stages(load, err) < 0 || check_makers(load, err) < 0 ||
	    check_speeds(load, err) < 0 || load_check_jobs(load, err) < 0)
		return -EINVAL;
	return 0;
}
