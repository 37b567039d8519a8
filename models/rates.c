#include "models/rates.h"
#include "models/hits.h"
#include "models/simulation.h"

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
static double together(const struct simulation_load *load, unsigned m)
{
	size_t last = load->speeds - 1;

	return m <= last ? m * load->speed[m] : (double)last * load->speed[last];
}

static double most_together(const struct simulation_load *load)
{
	unsigned threads = load->workers + load->fetch_threads + load->compute_threads;
	double most = 0;

	for (unsigned m = 1; m <= threads; m++)
		most = fmax(most, together(load, m));
	return most;
}

static double compute_rate(const struct simulation_load *load)
{
	double cpu_s = load->compute_cpu_s / together(load, load->compute_threads);

	return load->batch / fmax(load->compute_s, cpu_s);
}

static double prep_rate(const struct simulation_load *load, const struct means *means)
{
	double each_s = means->prep_s * load->workers / together(load, load->workers);

	return load->workers / fmax(each_s, load->delay_s);
}

/* Of unread samples. */
static double storage_rate_of(const struct simulation_load *load,
			      const struct means *means)
{
	double latency = load->depth / (means->fetch_s + load->fetch_cpu_s);
	double cpu = load->fetch_cpu_s > 0 ? load->fetch_threads / load->fetch_cpu_s
					   : INFINITY;

	return fmin(load->bandwidth / means->bytes, fmin(latency, cpu));
}

/* All that the cores have to do for a sample, when `misses` of them are read. */
static double cores_rate_at(const struct simulation_load *load,
			    const struct means *means, double misses)
{
	double work = means->prep_s + misses * load->fetch_cpu_s +
		      load->compute_cpu_s / load->batch;

	return most_together(load) / work;
}

/* Hit probability over the epoch; 0 where it can't be told. */
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

void rates_of(const struct simulation_load *load, struct rates *rates)
{
	const struct means means = means_of(load);
	double storage = storage_rate_of(load, &means), seconds = 0, misses = 0;
	double hit[POSITIONS];

	hits_of(load, means.bytes, hit);
	rates->compute = compute_rate(load);
	rates->prep = prep_rate(load, &means);
	for (int i = 0; i < POSITIONS; i++) {
		double miss = 1 - hit[i];
		double least = fmin(rates->compute, rates->prep);

		least = fmin(least, cores_rate_at(load, &means, miss));
		if (miss > 0)
			least = fmin(least, storage / miss);
		seconds += 1 / (least * POSITIONS);
		misses += miss / POSITIONS;
	}
	rates->fetch = misses > 0 ? storage / misses : INFINITY;
	rates->cores = cores_rate_at(load, &means, misses);
	rates->all = 1 / seconds;
}
