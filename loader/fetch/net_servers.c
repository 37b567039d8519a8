/* net_servers.c - notes which servers answer, and finds that one is gone. */
#include "loader/fetch/net_servers.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/net.h"

#include <errno.h>

static struct net_server *net_servers_find(struct net_servers *servers,
					   const struct net_remote *remote)
{
	unsigned i = 0;

	while (i < servers->count && servers->of[i].remote != remote)
		i++;
	if (i == servers->count)
		servers->of[servers->count++] = (struct net_server){.remote = remote};
	return &servers->of[i];
}

static int net_server_left(struct net_server *server, struct net_ending *ending)
{
	const struct error cause = *ending->error;

	server->gone = true;
	ending->lost = server->lost + ending->out;
	return error_set(ending->error, EHOSTDOWN,
			 "%.80s gave no answer for %g s (deadline), %u sample%s lost: "
			 "%s",
			 net_remote_url(server->remote),
			 net_remote_deadline_s(server->remote), ending->lost,
			 ending->lost == 1 ? "" : "s", cause.message);
}

int net_servers_judge(struct net_servers *servers, struct net_ending *ending)
{
	struct net_server *server = net_servers_find(servers, ending->remote);

	if (ending->result == -ECANCELED)
		return ending->result;
	if (ending->result == -ETIMEDOUT) {
		server->lost += ending->samples;
		return server->answered < ending->began
			       ? net_server_left(server, ending)
			       : ending->result;
	}
	if (ending->result == -EKEYREJECTED)
		ending->lost = ending->samples + ending->out;
	server->answered = clock_now();
	server->lost = 0;
	return ending->result;
}

bool net_servers_gone(const struct net_servers *servers,
		      const struct net_remote *remote)
{
	for (unsigned i = 0; i < servers->count; i++)
		if (servers->of[i].remote == remote)
			return servers->of[i].gone;
	return false;
}
