/* session_join.c - claims a slot in the session that DSA_SESSION names. */
#include "loader/session_join.h"
#include "loader/base/error.h"
#include "loader/driver.h"
#include "loader/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The same data, in batches of the same size. */
static bool session_join_is_same(const struct trace *trace,
				 const struct options *options)
{
	const struct trace_loader *before = &trace->loader;
	char output[sizeof(before->output)];

	if (before->batch != options->batch)
		return false;
	options_shape(options, output, sizeof(output));
	if (before->shared || before->dataset[0] == '\0') /* one shared loader's */
		return true;
	return strncmp(before->dataset, options->dataset,
		       sizeof(before->dataset) - 1) == 0 &&
	       strcmp(before->output, output) == 0;
}

bool session_join_continues(const struct trace *trace, const struct options *options)
{
	return trace->driver_done != 0 && session_join_is_same(trace, options);
}

/* Claims a slot, whose counters go on. */
static void session_join_claim(struct enlisted *enlisted, const struct options *options)
{
	struct trace *trace = enlisted->trace;
	bool same = session_join_continues(trace, options);
	struct trace_process *process =
		trace_claim(trace, options->dataset, driver_succeeds(trace, same));

	if (process == NULL || process != trace_driver(trace))
		atomic_fetch_add(&trace->loaders, 1);
	if (process == NULL) { /* too many loaders: this one goes unseen */
		trace_unmap(trace);
		enlisted->trace = NULL;
		return;
	}
	enlisted->process = process;
	for (int i = 0; i < TRACE_COUNT; i++)
		enlisted->before[i] = process->counters[i];
}

int session_join_open(struct enlisted *enlisted, const struct options *options,
		      struct error *err)
{
	const char *path = getenv("DSA_SESSION");

	*enlisted = (struct enlisted){.own = calloc(1, sizeof(*enlisted->own))};
	if (enlisted->own == NULL)
		return error_sys(err, ENOMEM, "cannot open the loader");
	enlisted->process = enlisted->own;
	if (path == NULL || *path == '\0')
		return 0;
	enlisted->trace = trace_map(path, true, err);
	if (enlisted->trace == NULL && err->code == ENOENT) { /* its run is over */
		*err = (struct error){0};
		return 0;
	}
	if (enlisted->trace == NULL)
		return error_within(err, -EINVAL, "DSA_SESSION");
	session_join_claim(enlisted, options);
	return 0;
}

void session_join_close(struct enlisted *enlisted)
{
	if (enlisted->trace != NULL && enlisted->process != enlisted->own)
		trace_give_back(enlisted->process);
	trace_unmap(enlisted->trace);
	free(enlisted->own);
}

uint64_t session_join_counter(const struct enlisted *enlisted, enum trace_counter which)
{
	return atomic_load_explicit(&enlisted->process->counters[which],
				    memory_order_relaxed) -
	       enlisted->before[which];
}
