/*
 * protocol.h - messages between a shared loader and its clients over a Unix socket.
 *
 * A stream of messages: a head, then `bytes` of what the type's struct says. Numbers
 * are the machine's own: both ends are on it. Descriptors come with the message's first
 * byte. A connection whose first bytes are "GET " is HTTP and gets one answer
 * (share_status_http()).
 *
 *	consumer                                 loader
 *	HELLO ->
 *	                                      <- WAIT    (soon: later is when it begins)
 *	                                      <- WELCOME memfd, page, eventfd, classes,
 *	                                         mirror (its device is the loader's),
 *	                                         id_map (joader)
 *	                                         or REFUSED
 *	(batches by shared memory: bcast_ring.h)
 *	the end of the connection, or of the process: it left
 *	STATUS ->                             <- STATUS and JSON text
 *
 * Of WELCOME's descriptors `classes` is a memfd of their names, each ended by 0, in the
 * order of labels. `mirror` is memory of the device that HELLO names, where the samples
 * are once more. Where clients have data sets of their own (joader), samples in the
 * shared memory are those of all data sets as one, and `id_map` is a sealed memfd with
 * the number and the label that each has in this job's data set, UINT32_MAX twice if it
 * is not in there (struct id_map_entry); classes and all that WELCOME says are of this
 * job's data set.
 *
 * Everything that comes is checked before use; a message that does not fit ends the
 * connection.
 */
#ifndef DSA_SHARE_PROTOCOL_H
#define DSA_SHARE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define PROTOCOL_MAGIC   0x31617364u /* "dsa1" */
#define PROTOCOL_VERSION 6

enum {
	PROTOCOL_MOST = 8192,           /* bytes of a message from a consumer */
	PROTOCOL_STATUS_MOST = 1 << 20, /* of a STATUS answer */
	PROTOCOL_FDS = 6,
	PROTOCOL_WHY = 256,
	PROTOCOL_FEATURES = 520, /* bytes of source_facts.features, which are fewer */
};

enum protocol_type {
	PROTOCOL_HELLO = 1,
	PROTOCOL_WELCOME,
	PROTOCOL_REFUSED,
	PROTOCOL_STATUS = 5,
	PROTOCOL_WAIT, /* no body: until there is memory for the samples, for other
			* jobs, or for the next round */
	PROTOCOL_TYPES,
	PROTOCOL_HTTP = 0x20544547, /* "GET ": the whole request, as text */
};

struct protocol_head {
	uint32_t magic, type, bytes, reserved;
};

struct protocol_hello {
	uint32_t version, batch;
	uint32_t in_order, world;
	uint32_t evaluate, size, layout, type; /* of its samples, as in dsa_config */
	float mean[3], std[3];
	uint32_t length, token_bits, rate, features;
	double seconds;
	char prep[32];
	char dataset[4096]; /* real path; "": whatever there is */
	char job[64];       /* name for tables: DSA_JOB, or the program's */
	uint32_t resumes;   /* it was at a loader that is gone */
	uint32_t shuffle;   /* as in dsa_config */
	char device[16];    /* UUID of the one that its batches go to; all 0: none */
};

struct protocol_welcome {
	uint32_t version, slot;
	uint64_t start, epoch_places, remaining; /* bcast_reader_config's */
	uint64_t seed, dataset_samples, dataset_bytes;
	uint64_t sample_bytes;
	uint32_t classes, workers, audit,
		decoded;               /* decoded: the client crops and resizes */
	uint32_t server_pid, mirrored; /* mirrored: its descriptor is there */
	char output[64];
	char dataset[4096];               /* that it was given; one of them */
	char features[PROTOCOL_FEATURES]; /* of its records: source_facts; "": none */
};

struct protocol_refused {
	char why[PROTOCOL_WHY];
};

/* Bytes that the struct of a type has; SIZE_MAX: no such type, or text (STATUS). */
size_t protocol_bytes(enum protocol_type type);

/*
 * Sends a message whole. Closes no descriptor. 0 or -errno; -EAGAIN when the peer does
 * not read (the socket is given a send timeout, or does not block).
 */
int protocol_send(int socket, enum protocol_type type, const void *body, size_t bytes,
		  const int *fds, unsigned fd_count);

/* A message as far as it has come. */
struct protocol_inbox {
	unsigned char bytes[sizeof(struct protocol_head) + PROTOCOL_MOST + 1];
	size_t have;
	int fds[PROTOCOL_FDS];
	unsigned fd_count;
};

void protocol_inbox_init(struct protocol_inbox *inbox);
void protocol_inbox_fini(struct protocol_inbox *inbox); /* closes what was not taken */

/*
 * Reads what there is (flags: of recvmsg). 1: a whole message is there; 0: not yet;
 * -EPIPE: the peer is gone; -EPROTO: this is no such message; -errno. After 1:
 * protocol_type(), protocol_body(), then protocol_next() for the one after it. An HTTP
 * request comes as PROTOCOL_HTTP when its empty line did.
 */
int protocol_receive(int socket, struct protocol_inbox *inbox, int flags);
enum protocol_type protocol_type(const struct protocol_inbox *inbox);

/* The struct of its type; of STATUS and HTTP text, ended with 0. */
const void *protocol_body(const struct protocol_inbox *inbox);
void protocol_next(struct protocol_inbox *inbox);
int protocol_take_fd(struct protocol_inbox *inbox); /* the next one; -1: none */

/* Asks for the status and waits for it, as long as the socket's own timeouts let it.
 * Text: malloc, the caller's. 0, or -errno as protocol_receive(). */
int protocol_ask_status(int socket, char **text);

#endif
