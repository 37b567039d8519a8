/*
 * net_servers.h - whether the servers of a data set still answer. Private to
 * loader/fetch/; of one thread.
 *
 * A request that got no answer until its deadline is a sample lost, or several that were to
 * come together. Where no other request to that server was answered since it began either,
 * the server is gone, and so is the data.
 */
#ifndef DSA_FETCH_NET_SERVERS_H
#define DSA_FETCH_NET_SERVERS_H

#include "loader/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct net_remote;

struct net_servers {
	unsigned count;
	struct net_server {
		const struct net_remote *remote;
		uint64_t answered; /* last; clock_now() */
		uint32_t lost;     /* samples since then */
		bool gone;
	} of[LIMIT_PARTS];
};

/* How a request ended, which began at that time. */
struct net_ending {
	const struct net_remote *remote;
	uint64_t began;   /* clock_now() */
	uint32_t samples; /* that it was to bring; */
	uint32_t out;     /* and those of others to the server that have not ended */
	int result;       /* as loader/net.h has it, and what it says */
	struct error *error;
	uint32_t lost; /* what net_servers_judge() finds: samples that ended with it */
};

/* Returns the ending's result; or -EHOSTDOWN, and another line in its error, when the server
 * is gone. With either of the results that end all, sets `lost`. */
int net_servers_judge(struct net_servers *servers, struct net_ending *ending);

/* It has gone: asking it for more only takes time. */
bool net_servers_gone(const struct net_servers *servers,
		      const struct net_remote *remote);

#endif
