/* changes.c - the options of a change, each with the values of a sweep. */
#include "cmd/common/changes.h"
#include "loader/base/error.h"
#include "loader/base/variants.h"
#include "models/whatif/sweep.h"

#include <argp.h>

#define KEY(name) (2000 + SWEEP_##name)

static const struct argp_option table[] = {
	{NULL, 0, NULL, 0, "Changes, each a value, a list 1,2,4 or a range 1..16:", 5},
	{"cores", KEY(CORES), "N", 0, "Number of cores", 0},
	{"workers", KEY(WORKERS), "N", 0, "Threads that prepare samples", 0},
	{"cache", KEY(CACHE), "SIZE", 0,
	 "Bytes of the cache, or its share of the data: 0%..100%", 0},
	{"cache-policy", KEY(POLICY), CACHE_POLICY_NAMES, 0, "What the cache keeps", 0},
	{"gpu-speed", KEY(SPEED), "FACTOR", 0,
	 "Speed of the accelerator, as a factor: 2x", 0},
	{"batch", KEY(BATCH), "N", 0, "Samples a batch", 0},
	{"storage-bandwidth", KEY(BANDWIDTH), "RATE", 0,
	 "Emulated bandwidth of storage; none removes it", 0},
	{"storage-latency", KEY(LATENCY), "TIME", 0,
	 "Emulated read latency; none removes it", 0},
	{"jobs", KEY(JOBS), "N", 0,
	 "Copies of the job at once; or their accelerators' speeds: 1x+0.5x", 0},
	{"share", KEY(SHARE), "yes|no", OPTION_ARG_OPTIONAL,
	 "One loader for all jobs, instead of one each", 0},
	{0},
};

static error_t changes_parse(int key, char *arg, struct argp_state *state)
{
	struct error err = {0};

	if (key < KEY(CACHE) || key >= KEY(KEYS))
		return ARGP_ERR_UNKNOWN;
	if (sweep_set(state->input, sweep_names[key - KEY(CACHE)],
		      arg != NULL ? arg : "yes", &err) < 0)
		argp_error(state, "--%s", err.message);
	return 0;
}

const struct argp changes_argp = {.options = table, .parser = changes_parse};
