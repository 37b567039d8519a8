#include "cmd/common/changes.h"
#include "loader/base/error.h"
#include "loader/base/variants.h"
#include "models/whatif/sweep.h"

#include <argp.h>

#define KEY(name) (2000 + SWEEP_##name)

static const struct argp_option table[] = {
	{NULL, 0, NULL, 0, "Changes, each a value, a list 1,2,4 or a range 1..16:", 5},
	{"cores", KEY(CORES), "N", 0, "That many cores", 0},
	{"workers", KEY(WORKERS), "N", 0, "That many threads that prepare samples", 0},
	{"cache", KEY(CACHE), "SIZE", 0,
	 "A cache of so many bytes, or a share of the data: 0%..100%", 0},
	{"cache-policy", KEY(POLICY), CACHE_POLICY_NAMES, 0, "What the cache keeps", 0},
	{"gpu-speed", KEY(SPEED), "FACTOR", 0,
	 "An accelerator so many times as fast: 2x", 0},
	{"batch", KEY(BATCH), "N", 0, "That many samples a batch", 0},
	{"storage-bandwidth", KEY(BANDWIDTH), "RATE", 0,
	 "Storage that gives no more bytes a second, or none: as fast as it is", 0},
	{"storage-latency", KEY(LATENCY), "TIME", 0,
	 "Storage whose reads take as long, or none: no longer than they do", 0},
	{"jobs", KEY(JOBS), "N", 0,
	 "So many of the job at once; or the speeds of their accelerators: 1x+0.5x", 0},
	{"share", KEY(SHARE), "yes|no", OPTION_ARG_OPTIONAL,
	 "One loader for all jobs; without it each has its own", 0},
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
