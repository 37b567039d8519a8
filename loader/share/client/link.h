/*
 * link.h - a consumer's connection to one shared loader: its socket, its reader of the
 * feed, and what it was told when it joined. Private to loader/share/.
 *
 * One thread at a time.
 */
#ifndef DSA_SHARE_LINK_H
#define DSA_SHARE_LINK_H

#include "loader/share/wire/numbers.h"
#include "loader/share/wire/protocol.h"

#include <stdatomic.h>

struct feed_reader;

struct link {
	int socket;
	int memory; /* the feed's memfd: for a loader that takes over */
	struct feed_reader *reader;
	struct protocol_welcome welcome;
	char *classes;          /* welcome.classes names, each ended by 0 */
	struct numbers numbers; /* of our own data set; none: they are the feed's */
	bool gone;              /* the loader died, or wants no more of us */
	unsigned held;          /* batches in its feed; the caller's to count */
	struct protocol_inbox inbox;
	struct protocol_rest rest; /* of our epoch: we are dropped; its numbers: */
	int rest_fd;               /* -1: we are not */
	const _Atomic bool *ended; /* link_config's */
	struct link *next;         /* the caller's */
};

struct link_config {
	const char *path; /* of the socket */
	const struct protocol_hello *hello;
	int before; /* memfd of the loader that hello->stand tells of; -1 */
	const _Atomic bool *ended; /* the program does not want it any more */
};

/*
 * Joins the loader at a socket. May wait as long as that loader makes it wait, but for an
 * answer at most 10 s, and no longer once it has ended. NULL and err, whose code is
 * ENOENT, ECONNREFUSED, ETIMEDOUT or EPIPE (closed without a word) when there is no loader
 * that answers, else something else.
 */
struct link *link_open(const struct link_config *config, struct error *err);
void link_close(struct link *link); /* NULL is allowed */

/* No loader answered; another try may find one. */
bool link_unreachable(int code);

/* Sees whether the loader is still there: sets gone when it is not. */
void link_look(struct link *link);

/* Samples and labels of the feed become those of our own data set. 1; -EBADMSG: one of
 * them is not in there. */
int link_own(const struct link *link, uint32_t count, uint32_t *labels,
	     uint32_t *samples, struct error *err);

/* Whether samples lie among those of other jobs, and are to be copied as they come. */
bool link_copies(const struct link *link);

/*
 * What the loader said of the rest of this reader's epoch when it dropped it; samples has
 * room for feed_remaining(). 0 and *count, or -errno.
 */
int link_rest(struct link *link, uint32_t *samples, uint32_t *count, struct error *err);

#endif
