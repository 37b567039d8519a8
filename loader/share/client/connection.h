/*
 * connection.h - a consumer's connection to one shared loader: its socket, its reader
 * of the ring, and its WELCOME. Private to loader/share/.
 *
 * One thread at a time.
 */
#ifndef DSA_SHARE_CONNECTION_H
#define DSA_SHARE_CONNECTION_H

#include "loader/share/client/sample_set.h"
#include "loader/share/wire/id_map.h"
#include "loader/share/wire/protocol.h"

#include <stdatomic.h>

struct bcast_batch;
struct bcast_reader;
struct gpu;
struct gpu_mirror;

struct connection {
	int socket;
	struct bcast_reader *reader;
	struct protocol_welcome welcome;
	char *classes;         /* welcome.classes names, each ended by 0 */
	struct id_map id_map;  /* of our own data set; none: they are the ring's */
	bool gone;             /* the loader died, or wants no more of us */
	unsigned held;         /* batches in its ring; the caller's to count */
	const struct gpu *gpu; /* that copies from its ring; NULL: none does */
	struct gpu_mirror
		*mirror; /* of its ring, or NULL; and its descriptor, or -1: */
	int mirror_fd;
	struct protocol_inbox inbox;
	const struct sample_set *had; /* connection_config's, and: */
	const _Atomic bool *ended;
	struct connection *next; /* the caller's */
};

struct connection_config {
	const char *path; /* of the socket */
	const struct protocol_hello *hello;
	const struct sample_set *had; /* of this epoch, elsewhere; NULL: nothing */
	const _Atomic bool *ended;    /* the program does not want it any more */
};

/*
 * Joins the loader at a socket. May wait as long as that loader makes it wait, but for
 * an answer at most 10 s, and no longer once it has ended. NULL and err, whose code is
 * ENOENT, ECONNREFUSED, ETIMEDOUT or EPIPE (closed without a word) when there is no
 * loader that answers, else something else.
 */
struct connection *connection_open(const struct connection_config *config,
				   struct error *err);
void connection_close(struct connection *connection); /* NULL is allowed */

/* No loader answered; another try may find one. */
bool connection_unreachable(int code);

/* Finds the best way for batches to get to a device, which outlives the connection: the
 * mirror of its ring; a copy from its ring; or neither. */
void connection_use_device(struct connection *connection, struct gpu *gpu);

/* Sees whether the loader is still there: sets gone when it is not. */
void connection_look(struct connection *connection);

/* Samples and labels of the ring become those of our own data set. 1; -EBADMSG: one of
 * them is not in there. */
int connection_own(const struct connection *connection, uint32_t count,
		   uint32_t *labels, uint32_t *samples, struct error *err);

/* Whether a batch is to be copied as it comes: its samples lie among those of other
 * jobs, or among those that were had: what is held of them might fill the ring. */
bool connection_copies(const struct connection *connection,
		       const struct bcast_batch *batch);

#endif
