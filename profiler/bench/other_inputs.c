/* other_inputs.c - decides whether other inputs are of interest, and for how long. */
#include "profiler/bench/other_inputs.h"
#include "loader/base/trace.h"
#include "profiler/bench/bench_recipes.h"

#include <signal.h>
#include <string.h>

#define SHARE .03 /* of the budget */

/* A run leaves these blocked, to write its result undisturbed. */
bool other_inputs_interrupted(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigismember(&pending, signals[i]))
			return true;
	return false;
}

bool other_inputs_matter(const struct profile *profile)
{
	bool stalled = false;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		stalled |= profile->stalls[i].value > STAGE_NOTICED;
	return stalled && profile->status.id != STATUS_INTERRUPTED &&
	       !profile_is_observed(profile) && !other_inputs_interrupted();
}

static bool other_inputs_wanted(const struct trace *trace,
				const struct profile *profile)
{
	/* a server's objects would be asked for, which costs */
	return other_inputs_matter(profile) && trace->loader_ready &&
	       !trace->loader.remote && strcmp(trace->loader.prep, "image") == 0 &&
	       trace->loader.dataset[0] != '\0';
}

void other_inputs_measure(const struct trace *trace, struct profile *profile)
{
	const struct trace_loader *loader = &trace->loader;
	struct bench_recipes config = {
		.dataset = loader->dataset,
		.prep = prep_defaults,
		.seed = loader->seed,
		.seconds = SHARE * profile->budget_s,
		.interrupted = other_inputs_interrupted,
	};

	if (!other_inputs_wanted(trace, profile))
		return;
	config.prep.evaluate = loader->evaluate != 0;
	config.prep.size = loader->size;
	config.prep.resize = (loader->size * 8 + 6) / 7;
	config.prep.layout = (enum prep_layout)loader->layout;
	config.prep.type = (enum prep_type)loader->type;
	(void)bench_recipes_run(&config, profile, NULL);
}
