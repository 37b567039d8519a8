/* session_join.c - claims a slot in the session that DSA_SESSION names. */
#include "loader/session_join.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"

#include <errno.h>
#include <stdlib.h>

int session_join_open(struct enlisted *enlisted, struct error *err)
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
	enlisted->process = trace_claim(enlisted->trace);
	if (enlisted->process == NULL) { /* too many loaders: this one goes unseen */
		trace_unmap(enlisted->trace);
		enlisted->trace = NULL;
		enlisted->process = enlisted->own;
	} else {
		enlisted->process->role = 2;
		atomic_fetch_add(&enlisted->trace->loaders, 1);
	}
	return 0;
}

void session_join_close(struct enlisted *enlisted)
{
	trace_unmap(enlisted->trace);
	free(enlisted->own);
}
