/* most_requests.h - --max-requests of commands that measure. */
#ifndef DSA_CMD_MOST_REQUESTS_H
#define DSA_CMD_MOST_REQUESTS_H

struct argp_state;

/* Of an argument: reads a number from 1 on into a uint64_t. */
void most_requests_set(struct argp_state *state, void *member, const char *arg);

#endif
