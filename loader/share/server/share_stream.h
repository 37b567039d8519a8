/*
 * share_stream.h - the stream of samples that all clients share: which samples come
 * (scheduler), how they are made (pipeline), where they lie (ring). Private to
 * loader/share/.
 *
 *	scheduler --plan--> pipeline --> ring --> clients
 */
#ifndef DSA_SHARE_STREAM_H
#define DSA_SHARE_STREAM_H

#include "loader/pipeline.h"
#include "loader/share/ring/bcast_ring.h"
#include "loader/share/schedule/shared_epoch.h"
#include "loader/share/server/client.h"
#include "loader/share/server/scheduler.h"
#include <stdatomic.h>

struct audit;
struct components;
struct enlisted;
struct gpu;
struct options;
struct reactor;
struct share_config;

enum { SKIPS_LOGGED = 8 /* a tick */ };

/* Where an entry point of the shared epoch began last, as far as batches were
 * published. */
struct entry_start {
	unsigned owners;
	bool known;
	uint64_t pass;            /* its first one */
	uint64_t sequence, voids; /* voids: places before the pass's first sample */
};

struct skip_line {
	char name[120], reason[96];
};

/* Samples that could not be used and were not logged yet. */
struct skip_lines {
	struct skip_line lines[SKIPS_LOGGED];
	unsigned count;
	uint64_t more;  /* beyond them */
	bool many;      /* an epoch lost more than it should: */
	uint64_t epoch; /* this one */
};

struct share_stream {
	/* Of the server; they do not change. */
	const struct share_config *config;
	const struct options *options;
	const struct components *parts;
	const struct enlisted *session;
	const struct reactor *reactor;
	const struct scheduler_ops *scheduler;
	struct gpu *gpu; /* of the ring's mirror; NULL: there is none */
	struct bcast_ring *ring;
	struct plan *plan; /* the scheduler's */
	struct pipeline *pipeline;

	/* Of the server's thread. */
	bool begun; /* batches are made */
	uint64_t begun_ns;
	bool ended; /* readers have the end of the data */

	_Atomic uint64_t skipped; /* samples */

	/* All below: with the pipeline's lock held. */
	struct pipeline_point next;  /* where the pipeline stands: pipeline_lock() */
	uint64_t pass;               /* of the last batch published; UINT64_MAX: none */
	struct shared_epoch *shared; /* NULL: joader */
	struct joader *joader;       /* NULL: shared epoch */
	struct entry_start entry_starts[SHARED_EPOCH_ENTRIES];
	int round; /* the entry point that rounds of lockstep begin at; -1: none */
	struct client *queued[CLIENTS]; /* for the next round */
	unsigned queued_count;
	struct skip_lines skips;
	struct audit *audit; /* NULL: none */
};

/* What does not change is set. 0 or -errno; either way to be closed. */
int share_stream_open(struct share_stream *stream, struct error *err);
void share_stream_close(struct share_stream *stream);

/* Batches are made from now on. start: by the stream itself, not by a driver. */
void share_stream_begin(struct share_stream *stream, bool start);

/* The pipeline's lock, of a stream that is open. It sets stream->next. */
void share_stream_lock(struct share_stream *stream);
void share_stream_unlock(struct share_stream *stream);

/* Ends the data, with a failure if code is not 0; false: it had ended. */
bool share_stream_end(struct share_stream *stream, int code, const char *why);
void share_stream_stop(struct share_stream *stream);

uint32_t share_stream_samples(const struct share_stream *stream); /* of the data set */

#endif
