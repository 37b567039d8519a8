/* gate_config.c - limits, and whether so many repetitions can reach alpha. */
#include "models/gate/gate_config.h"
#include "loader/base/error.h"
#include "models/gate/gate_looks.h"
#include "models/gate/gate_statistics.h"
#include "models/gate/gate_timed.h"

#include <errno.h>

void gate_config_init(struct gate_config *config)
{
	*config = (struct gate_config){.alpha = .05, .paired = true};
	for (int i = 0; i < GATE_METRICS; i++)
		config->limits[i] = NAN;
}

double gate_config_limit(const struct gate_config *config, int metric)
{
	double limit = config->limits[metric];

	return isnan(limit) ? gate_metrics[metric].limit : limit;
}

bool gate_config_decides(const struct gate_config *config, int metric)
{
	return isfinite(gate_config_limit(config, metric));
}

bool gate_config_compares(const struct gate_config *config, int metric)
{
	return gate_config_decides(config, metric) ||
	       (gate_metrics[metric].informs && isnan(config->limits[metric]));
}

static bool is_timed_on(const struct gate_config *config, int metric)
{
	return gate_metrics[metric].tier != GATE_EXACT &&
	       gate_config_decides(config, metric);
}

static unsigned timed_on(const struct gate_config *config)
{
	unsigned count = 0;

	for (int i = 0; i < GATE_METRICS; i++)
		count += is_timed_on(config, i);
	return count;
}

bool gate_config_is_timed(const struct gate_config *config)
{
	return timed_on(config) > 0;
}

bool gate_config_wants_machine(const struct gate_config *config)
{
	return gate_config_is_timed(config) && !config->any_environment;
}

int gate_config_check(const struct gate_config *config, struct error *err)
{
	if (!(config->alpha > 0 && config->alpha < .5))
		return error_set(err, EINVAL, "alpha %g: it lies between 0 and 0.5",
				 config->alpha);
	for (int i = 0; i < GATE_METRICS; i++)
		if (config->limits[i] < 0)
			return error_set(err, EINVAL, "limit %g of %s: 0 or more",
					 config->limits[i], gate_metrics[i].name);
	if (timed_on(config) <= GATE_TIMED_MOST)
		return 0;
	for (int i = GATE_METRICS; i-- > 0;)
		if (is_timed_on(config, i))
			return error_set(err, EINVAL,
					 "%u timed metrics, at most %d at once: leave "
					 "one out (--metric %s=off)",
					 timed_on(config), GATE_TIMED_MOST,
					 gate_metrics[i].name);
	return 0;
}

static double least_p(const struct gate_config *config, size_t base, size_t now)
{
	return config->paired ? gate_statistics_least_paired(base < now ? base : now)
			      : gate_statistics_least_unpaired(base, now);
}

/* The smallest number of repetitions of the new side that can reach alpha, judged once;
 * more than GATE_PAIRS_MOST: none of those that can be asked for. */
static size_t pairs_for(const struct gate_config *config, size_t base, unsigned metrics)
{
	size_t pairs = 1;

	if (config->paired)
		return gate_statistics_pairs_for(config->alpha, metrics);
	while (pairs <= GATE_PAIRS_MOST &&
	       metrics * least_p(config, base, pairs) >= config->alpha)
		pairs++;
	return pairs;
}

int gate_config_reaches(const struct gate_config *config, size_t base, size_t now,
			unsigned metrics, struct error *err)
{
	double least = least_p(config, config->paired ? now : base, now);
	size_t pairs;

	if (metrics == 0 || metrics * gate_looks_p(config, least) < config->alpha)
		return 0;
	pairs = pairs_for(config, base, metrics);
	if (pairs > GATE_PAIRS_MOST)
		return error_set(err, EINVAL,
				 "%zu repetitions and %u timed metrics can't reach "
				 "alpha %g, and %d could not: take a larger --alpha%s",
				 now, metrics, config->alpha, GATE_PAIRS_MOST,
				 config->paired ? "" : ", or --update the baseline");
	return error_set(err, EINVAL,
			 "%zu repetitions and %u timed metrics can't reach alpha %g: "
			 "take %zu (--pairs), or leave metrics out (--metric NAME=off)",
			 now, metrics, config->alpha, pairs);
}

/* Those that can fail a build. */
static unsigned gate_config_deciding(const struct gate_config *config,
				     const struct gate_side *base)
{
	bool few = !config->paired && gate_side_separate_count(base) < GATE_SESSIONS;
	unsigned count = 0;

	for (int i = 0; i < GATE_METRICS; i++)
		count += is_timed_on(config, i) &&
			 !(few && isnan(gate_metrics[i].drift));
	return count;
}

int gate_check(const struct gate_config *config, const struct gate_side *base,
	       size_t repetitions, struct error *err)
{
	int result = gate_config_check(config, err);

	if (result == 0 && repetitions > GATE_PAIRS_MOST)
		return error_set(err, EINVAL, "%zu pairs: at most %d", repetitions,
				 GATE_PAIRS_MOST);
	if (result < 0 || (base == NULL && !config->paired))
		return result;
	if (config->paired)
		return gate_config_reaches(config, 0, repetitions,
					   gate_config_deciding(config, base), err);
	if (gate_timed_base(base, false) == 0 && gate_config_is_timed(config))
		return error_set(err, EINVAL,
				 "the baseline has counts alone, and nothing timed to "
				 "compare with: compare counts alone (--pairs 0), or "
				 "time it, too (--update without --pairs 0)");
	return gate_config_reaches(config, gate_timed_base(base, false), repetitions,
				   gate_config_deciding(config, base), err);
}
