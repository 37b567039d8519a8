/* closed_form.c - the rate of each stage alone, and the least over an epoch. */
#include "tests/lib/closed_form.h"
#include "loader/base/math/steady.h"
#include "models/simulation/simulation.h"

enum { POSITIONS = 256 }; /* of the epoch, to integrate over */

/* Means of the draws. */
struct form_means {
	double bytes, fetch_s, prep_s;
};

static struct form_means form_means(const struct simulation_load *load)
{
	struct form_means means = {0};
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
static double form_together(const struct simulation_load *load, unsigned m)
{
	size_t last = load->speeds - 1;

	return m <= last ? m * load->speed[m] : (double)last * load->speed[last];
}

static unsigned form_jobs(const struct simulation_load *load)
{
	return load->jobs > 1 ? load->jobs : 1;
}

static unsigned form_pipelines(const struct simulation_load *load)
{
	return load->shared ? 1 : form_jobs(load);
}

/* How many jobs get a sample that one pipeline prepared. */
static unsigned form_readers(const struct simulation_load *load)
{
	return form_jobs(load) / form_pipelines(load);
}

static double form_most_together(const struct simulation_load *load)
{
	unsigned threads =
		form_pipelines(load) * (load->workers + load->fetch_threads) +
		form_jobs(load) * load->compute_threads;
	double most = 0;

	for (unsigned m = 1; m <= threads; m++)
		most = fmax(most, form_together(load, m));
	return most;
}

static double form_compute(const struct simulation_load *load, unsigned job)
{
	double cpu_s = load->compute_cpu_s / form_together(load, load->compute_threads);
	double step_s = load->job_compute_s != NULL ? load->job_compute_s[job]
						    : load->compute_s;

	return load->batch / fmax(step_s, cpu_s);
}

/* Of all jobs, none of them above `most`; the slowest sets the pace where they share. */
static double form_computes(const struct simulation_load *load, double most)
{
	double sum = 0, least = INFINITY;

	for (unsigned i = 0; i < form_jobs(load); i++) {
		double rate = fmin(most, form_compute(load, i));

		sum += rate;
		least = fmin(least, rate);
	}
	return load->shared ? form_jobs(load) * least : sum;
}

/* Of so many pipelines at once. */
static double form_prep(const struct simulation_load *load,
			const struct form_means *means, unsigned pipelines)
{
	unsigned workers = pipelines * load->workers;
	double each_s = means->prep_s * workers / form_together(load, workers);

	return workers / fmax(each_s, load->delay_s);
}

/* Of unread samples, for one pipeline. */
static double form_storage(const struct simulation_load *load,
			   const struct form_means *means)
{
	double latency = load->depth / (means->fetch_s + load->fetch_cpu_s);
	double cpu = load->fetch_cpu_s > 0 ? load->fetch_threads / load->fetch_cpu_s
					   : INFINITY;

	return fmin(load->bandwidth / means->bytes, fmin(latency, cpu));
}

/* For all of them. */
static double form_joint(const struct simulation_load *load,
			 const struct form_means *means)
{
	double joint = !load->shared && load->joint_bandwidth > 0
			       ? load->joint_bandwidth / means->bytes
			       : INFINITY;

	return fmin(joint, form_pipelines(load) * form_storage(load, means));
}

/* All that the cores have to do for a sample of a job, when `misses` are read. */
static double form_cores(const struct simulation_load *load,
			 const struct form_means *means, double misses)
{
	double work =
		(means->prep_s + misses * load->fetch_cpu_s) / form_readers(load) +
		load->compute_cpu_s / load->batch;

	return form_most_together(load) / work;
}

/* Hit probability over the epoch; 0 where it is unknown. */
static void form_hits(const struct simulation_load *load, double bytes, double *hit)
{
	bool cached = !load->all_hits && load->share > 0;

	if (cached &&
	    steady_over(load->policy, load->share, (uint64_t)(load->dataset * bytes),
			hit, POSITIONS) == 0)
		return;
	for (int i = 0; i < POSITIONS; i++)
		hit[i] = load->all_hits ? 1 : 0;
}

/* Where `miss` of the samples are read. */
static double form_least(const struct simulation_load *load,
			 const struct form_means *means,
			 const struct closed_form *rates, double miss)
{
	double own = form_prep(load, means, 1), least;

	if (miss > 0)
		own = fmin(own, form_storage(load, means) / miss);
	least = fmin(form_computes(load, own), rates->prep);
	least = fmin(least, form_cores(load, means, miss));
	return miss > 0 ? fmin(least,
			       form_readers(load) * form_joint(load, means) / miss)
			: least;
}

void closed_form_of(const struct simulation_load *load, struct closed_form *rates)
{
	const struct form_means means = form_means(load);
	double seconds = 0, misses = 0;
	double hit[POSITIONS];

	form_hits(load, means.bytes, hit);
	rates->compute = form_computes(load, INFINITY);
	rates->prep =
		form_readers(load) * form_prep(load, &means, form_pipelines(load));
	for (int i = 0; i < POSITIONS; i++) {
		double miss = 1 - hit[i];

		seconds += 1 / (form_least(load, &means, rates, miss) * POSITIONS);
		misses += miss / POSITIONS;
	}
	rates->fetch = misses > 0
			       ? form_readers(load) * form_joint(load, &means) / misses
			       : INFINITY;
	rates->cores = form_cores(load, &means, misses);
	rates->all = 1 / seconds;
}
