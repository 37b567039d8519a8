/* rates.c - the closed form of prep and of the cores. */
#include "models/predict/rates.h"
#include "loader/base/math/steady.h"
#include "models/simulation/simulation.h"

enum { POSITIONS = 256 }; /* of the epoch, to integrate over */

/* CPU work a second that m threads get done together. */
static double rates_together(const struct simulation_load *load, unsigned m)
{
	size_t last = load->speeds - 1;

	return m <= last ? m * load->speed[m] : (double)last * load->speed[last];
}

static double rates_most(const struct simulation_load *load, unsigned threads)
{
	double most = 0;

	for (unsigned m = 1; m <= threads; m++)
		most = fmax(most, rates_together(load, m));
	return most;
}

/* Share of the samples that are read; all where the hits are unknown. */
static double rates_misses(const struct simulation_load *load, double bytes)
{
	double hit[POSITIONS], misses = 0;

	if (load->all_hits)
		return 0;
	if (!(load->share > 0) ||
	    steady_over(load->policy, load->share, (uint64_t)(load->dataset * bytes),
			hit, POSITIONS) < 0)
		return 1;
	for (int i = 0; i < POSITIONS; i++)
		misses += (1 - hit[i]) / POSITIONS;
	return misses;
}

void rates_of(const struct simulation_load *load, struct rates *rates)
{
	unsigned jobs = load->jobs > 1 ? load->jobs : 1;
	unsigned pipelines = load->shared ? 1 : jobs, readers = jobs / pipelines;
	unsigned workers = pipelines * load->workers;
	unsigned threads = workers + pipelines * load->fetch_threads +
			   jobs * load->compute_threads;
	double slowed = load->prep_scale * workers / rates_together(load, workers);
	double bytes = 0, prep_s = 0, made_s = 0, work_s;

	for (size_t i = 0; i < load->draw_count; i++) {
		const struct profile_draw *draw = &load->draws[i];

		bytes += (double)draw->bytes / (double)load->draw_count;
		prep_s += load->prep_scale * draw->prep_s / (double)load->draw_count;
		made_s += fmax((slowed + load->wait_scale) * draw->prep_s,
			       load->delay_s) /
			  (double)load->draw_count;
	}
	rates->prep = readers * (workers / made_s);
	work_s = (prep_s + rates_misses(load, bytes) * load->fetch_cpu_s) / readers +
		 load->compute_cpu_s / load->batch;
	rates->cores = rates_most(load, threads) / work_s;
}
