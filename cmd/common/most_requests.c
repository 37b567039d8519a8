/* most_requests.c - reads --max-requests. */
#include "cmd/common/most_requests.h"
#include "cmd/common/argument.h"
#include "loader/base/number.h"

#define MOST_REQUESTS 1000000000000

void most_requests_set(struct argp_state *state, void *member, const char *arg)
{
	if (!number_whole(arg, MOST_REQUESTS, member) || *(uint64_t *)member == 0)
		argument_error(state, "--max-requests is a number from 1, not '%s'",
			       arg);
}
