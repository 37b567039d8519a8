/* requests.c - what clients say, and the answers. */
#include "loader/share/server/server_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool requests_answer_status(struct share_server *server,
				   const struct client *client)
{
	char *text = NULL;
	bool sent;

	if (share_metrics_json(server, &text) < 0)
		return false;
	sent = protocol_send(client->socket, PROTOCOL_STATUS, text, strlen(text), NULL,
			     0) == 0;
	free(text);
	return sent;
}

/* One answer, and the end. */
static void requests_answer_http(struct share_server *server,
				 const struct client *client)
{
	char *text = NULL;
	size_t bytes;

	if (share_metrics_http(server, protocol_body(&client->inbox), &text, &bytes) ==
	    0)
		send(client->socket, text, bytes, MSG_NOSIGNAL);
	free(text);
}

/* A connection that ends by itself. */
static void requests_hang_up(struct share_server *server, struct client *client)
{
	bool known = client->state == CLIENT_READING || client->state == CLIENT_DROPPED;

	client_end(server, client, known ? "left" : NULL);
}

static void requests_expel(struct share_server *server, struct client *client)
{
	pid_t pid = client->pid;

	if (client->state == CLIENT_PENDING) {
		client_end(server, client, NULL);
		client_refuse(server, REFUSED_GARBAGE, pid);
	} else {
		client_end(server, client, "said what makes no sense and was shut out");
	}
}

static bool requests_join(struct share_server *server, struct client *client)
{
	unsigned at = client->at;
	uint64_t serial = client->serial;

	if (client->state != CLIENT_PENDING) {
		requests_expel(server, client);
		return false;
	}
	join_hello(server, client, protocol_body(&client->inbox));
	return client_find(&server->clients, at, serial) != NULL;
}

/* True: it is still there and there may be more. */
static bool requests_answer(struct share_server *server, struct client *client)
{
	switch ((unsigned)protocol_type(&client->inbox)) {
	case PROTOCOL_HELLO:
		if (!requests_join(server, client))
			return false;
		break;
	case PROTOCOL_STATUS:
		if (requests_answer_status(server, client))
			break;
		requests_hang_up(server, client);
		return false;
	case PROTOCOL_HTTP:
		requests_answer_http(server, client);
		requests_hang_up(server, client);
		return false;
	default:
		requests_expel(server, client);
		return false;
	}
	protocol_next(&client->inbox);
	return true;
}

/* Nobody has to say so much at once. */
enum { MESSAGES = 64 };

void client_receive(struct share_server *server, struct client *client)
{
	for (int i = 0; i < MESSAGES; i++) {
		int got =
			protocol_receive(client->socket, &client->inbox, MSG_DONTWAIT);

		if (got == 0 || got == -EAGAIN || got == -EINTR)
			return;
		if (got == -EPROTO) {
			requests_expel(server, client);
			return;
		}
		if (got < 0) {
			requests_hang_up(server, client);
			return;
		}
		if (!requests_answer(server, client))
			return;
	}
	requests_expel(server, client);
}
