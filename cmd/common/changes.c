/* changes.c - the options of a change, each with the values of a sweep. */
#include "cmd/common/changes.h"
#include "loader/base/error.h"
#include "loader/base/variants.h"
#include "models/whatif/sweep.h"

static void changes_set(struct argp_state *state, void *sweep, const char *values)
{
	struct error err = {0};

	if (sweep_set(sweep, argument_current(state)->name,
		      values != NULL ? values : "yes", &err) < 0)
		argument_error(state, "--%s", err.message);
}

/* Names are those of SWEEP_TABLE in models/whatif/sweep.h: sweep_set() takes them. */
#define VALUES ARGUMENT_ALL_BY(CALL, changes_set)

const struct argument changes_arguments[] = {
	ARGUMENT_HEADING(5, "Changes, each a value, a list 1,2,4 or a range 1..16:"),
	{"cores", 0, "N", VALUES, "Number of cores"},
	{"workers", 0, "N", VALUES, "Threads that prepare samples"},
	{"cache", 0, "SIZE", VALUES,
	 "Bytes of the cache, or its share of the data: 0%..100%"},
	{"cache-policy", 0, CACHE_POLICY_NAMES, VALUES, "What the cache keeps"},
	{"gpu-speed", 0, "FACTOR", VALUES, "Speed of the accelerator, as a factor: 2x"},
	{"batch", 0, "N", VALUES, "Samples a batch"},
	{"storage-bandwidth", 0, "RATE", VALUES,
	 "Emulated bandwidth of storage; none removes it"},
	{"storage-latency", 0, "TIME", VALUES,
	 "Emulated read latency; none removes it"},
	{"storage-bucket", 0, "latency=TIME[,rate=N]", VALUES,
	 "The storage is a bucket: what an answer takes, and requests a second, beyond "
	 "which it refuses them"},
	{"block-fetch", 0, "f=N[,q=N][,k=N]", VALUES,
	 "The bucket's samples come as DELI fetches them: f at once, when no more "
	 "than q are asked for ahead, into a FIFO of k"},
	{"fetch-depth", 0, "N", VALUES, "Reads in flight"},
	{"jobs", 0, "N", VALUES,
	 "Copies of the job at once; or their accelerators' speeds: 1x+0.5x"},
	{"share", 0, "yes|no", ARGUMENT_ALL_BY(MAYBE, changes_set),
	 "One loader for all jobs, instead of one each"},
	{"resize", 0, "PIXELS", VALUES,
	 "Pictures stored with a shorter side of PIXELS, if theirs is longer"},
	{"type", 0, PREP_TYPE_NAMES, VALUES, "Numbers of a batch"},
	{"decoded", 0, "yes|no", ARGUMENT_ALL_BY(MAYBE, changes_set),
	 "Samples stored decoded, three bytes a pixel"},
	{"without", 0, "NAME", VALUES,
	 "A transform left out, of a program with a loader of its own"},
	{0},
};
