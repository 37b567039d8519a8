/* rates.c - the rate of each stage alone, and the least over an epoch. */
#include "models/predict/rates.h"
#include "models/cache/hits.h"
#include "models/simulation/simulation.h"

enum { POSITIONS = 256 }; /* of the epoch, to integrate over */

/* Means of the draws. */
struct means {
	double bytes, fetch_s, prep_s;
};

static struct means means_of(const struct simulation_load *load)
{
	struct means means = {0};
	double count = (double)load->draw_count;

	for (size_t i = 0; i < load->draw_count; i++) {
		const struct profile_draw *draw = &load->draws[i];
		double fetch_s = isnan(draw->fetch_s) ? 0 : draw->fetch_s;

		means.bytes += (double)draw->bytes / count;
		means.fetch_s +=
			fmax(load->latency_s, load->fetch_scale * fetch_s) / count;
		means.prep_s += load->prep_scale * draw->prep_s / count;
	}
	return means;
}

/* CPU work a second that m threads get done together. */
static double rates_together(const struct simulation_load *load, unsigned m)
{
	size_t last = load->speeds - 1;

	return m <= last ? m * load->speed[m] : (double)last * load->speed[last];
}

static unsigned rates_jobs_of(const struct simulation_load *load)
{
	return load->jobs > 1 ? load->jobs : 1;
}

static unsigned pipelines_of(const struct simulation_load *load)
{
	return load->shared ? 1 : rates_jobs_of(load);
}

/* How many jobs get a sample that one pipeline prepared. */
static unsigned readers_of(const struct simulation_load *load)
{
	return rates_jobs_of(load) / pipelines_of(load);
}

static double most_together(const struct simulation_load *load)
{
	unsigned threads = pipelines_of(load) * (load->workers + load->fetch_threads) +
			   rates_jobs_of(load) * load->compute_threads;
	double most = 0;

	for (unsigned m = 1; m <= threads; m++)
		most = fmax(most, rates_together(load, m));
	return most;
}

static double compute_rate(const struct simulation_load *load, unsigned job)
{
	double cpu_s =
		load->compute_cpu_s / rates_together(load, load->compute_threads);
	double step_s = load->job_compute_s != NULL ? load->job_compute_s[job]
						    : load->compute_s;

	return load->batch / fmax(step_s, cpu_s);
}

/* Of all jobs, none of them above `most`; the slowest sets the pace where they share. */
static double compute_rates(const struct simulation_load *load, double most)
{
	double sum = 0, least = INFINITY;

	for (unsigned i = 0; i < rates_jobs_of(load); i++) {
		double rate = fmin(most, compute_rate(load, i));

		sum += rate;
		least = fmin(least, rate);
	}
	return load->shared ? rates_jobs_of(load) * least : sum;
}

/* Of so many pipelines at once. */
static double prep_rate(const struct simulation_load *load, const struct means *means,
			unsigned pipelines)
{
	unsigned workers = pipelines * load->workers;
	double each_s = means->prep_s * workers / rates_together(load, workers);

	return workers / fmax(each_s, load->delay_s);
}

/* Of unread samples, for one pipeline. */
static double storage_rate_of(const struct simulation_load *load,
			      const struct means *means)
{
	double latency = load->depth / (means->fetch_s + load->fetch_cpu_s);
	double cpu = load->fetch_cpu_s > 0 ? load->fetch_threads / load->fetch_cpu_s
					   : INFINITY;

	return fmin(load->bandwidth / means->bytes, fmin(latency, cpu));
}

/* For all of them. */
static double joint_rate(const struct simulation_load *load, const struct means *means)
{
	double joint = !load->shared && load->joint_bandwidth > 0
			       ? load->joint_bandwidth / means->bytes
			       : INFINITY;

	return fmin(joint, pipelines_of(load) * storage_rate_of(load, means));
}

/* All that the cores have to do for a sample of a job, when `misses` are read. */
static double cores_rate_at(const struct simulation_load *load,
			    const struct means *means, double misses)
{
	double work = (means->prep_s + misses * load->fetch_cpu_s) / readers_of(load) +
		      load->compute_cpu_s / load->batch;

	return most_together(load) / work;
}

/* Hit probability over the epoch; 0 where it is unknown. */
static void hits_of(const struct simulation_load *load, double bytes, double *hit)
{
	int policy = load->policy == NULL ? HITS_NONE : hits_policy(load->policy);
	bool cached = !load->all_hits && load->share > 0 && policy >= 0;

	if (cached && hits_over((enum hits_policy)policy, load->share,
				(uint64_t)(load->dataset * bytes), hit, POSITIONS) == 0)
		return;
	for (int i = 0; i < POSITIONS; i++)
		hit[i] = load->all_hits ? 1 : 0;
}

/* Where `miss` of the samples are read. */
static double least_at(const struct simulation_load *load, const struct means *means,
		       const struct rates *rates, double miss)
{
	double own = prep_rate(load, means, 1), least;

	if (miss > 0)
		own = fmin(own, storage_rate_of(load, means) / miss);
	least = fmin(compute_rates(load, own), rates->prep);
	least = fmin(least, cores_rate_at(load, means, miss));
	return miss > 0 ? fmin(least, readers_of(load) * joint_rate(load, means) / miss)
			: least;
}

void rates_of(const struct simulation_load *load, struct rates *rates)
{
	const struct means means = means_of(load);
	double seconds = 0, misses = 0;
	double hit[POSITIONS];

	hits_of(load, means.bytes, hit);
	rates->compute = compute_rates(load, INFINITY);
	rates->prep = readers_of(load) * prep_rate(load, &means, pipelines_of(load));
	for (int i = 0; i < POSITIONS; i++) {
		double miss = 1 - hit[i];

		seconds += 1 / (least_at(load, &means, rates, miss) * POSITIONS);
		misses += miss / POSITIONS;
	}
	rates->fetch = misses > 0 ? readers_of(load) * joint_rate(load, &means) / misses
				  : INFINITY;
	rates->cores = cores_rate_at(load, &means, misses);
	rates->all = 1 / seconds;
}
