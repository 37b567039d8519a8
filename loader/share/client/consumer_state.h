/*
 * consumer_state.h - what the parts of a consumer share. Private to loader/share/.
 *
 *	connection --bcast_take()--> batch, batch, .. the end of its epochs
 *	  | dropped, or the loader ended
 *	  +--> another connection (takeover): samples that it has not had of this epoch
 *	  +--> a pipeline of its own: the rest of the epoch, then whole ones
 *
 * Epochs and steps are counted over all of these: for the program it is one stream.
 */
#ifndef DSA_SHARE_CONSUMER_STATE_H
#define DSA_SHARE_CONSUMER_STATE_H

#include "loader/base/error.h"
#include "loader/batch_source.h"
#include "loader/driver.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "loader/share/client/connection.h"
#include "loader/share/client/held_batches.h"

/* Places for batches: those that the program may hold, and the one that it asks for. */
#define CONSUMER_SLOTS(options) ((options)->prefetch + 1)

struct consumer {
	struct batch_source base;
	struct batch_source_config config;
	struct options options; /* for the pipeline of its own: from where it begins */
	char *path;             /* of the socket */
	struct protocol_hello hello;
	struct dsa_stats about; /* what never changes */
	char *classes;
	uint64_t seed;                    /* the shared loader's */
	bool decoded;                     /* samples are canvases, for client_prep.h */
	char features[PROTOCOL_FEATURES]; /* of records that they are made of */
	struct gpu *gpu;                  /* NULL: batches stay in memory; else: */
	struct gpu_twins *twins;          /* of the places of `batches` */
	struct held_batches batches;
	struct connection *connection; /* NULL: none any more */
	struct connection *old;        /* ended, but batches in their rings are held */
	struct sample_set had;         /* of this epoch, but for repeated ones */
	uint64_t bad;                  /* bcast_bad(), when a batch was taken last */
	uint64_t skip_epoch, skipped, most_skipped; /* of an epoch; the most of any */
	uint64_t end_epoch;
	uint64_t stolen;              /* voids of its start that are still to come */
	struct driver *driver;        /* NULL: not ours to drive, or not asked yet; */
	struct driver driving;        /* else this */
	bool asked;                   /* for a batch */
	_Atomic bool ended;           /* the program wants no more */
	bool done;                    /* the program has had all its epochs */
	struct error failure;         /* code 0: none; after one comes no batch */
	_Atomic uint64_t epoch, step; /* of the next batch */
	_Atomic(struct batch_source *) alone; /* the pipeline of its own; NULL: none */
	uint64_t alone_epoch, alone_step;     /* where that one began */
};

/* Closes the connection as soon as no batch in its ring is held. */
void consumer_leave(struct consumer *consumer);

/* consumer_features.c: sets options->image_feature and label_feature to those that the shared
 * loader reads, where its samples are records; -EINVAL (err) where the program names others. */
void consumer_set_features(const char *features, struct options *options);
int consumer_check_features(const struct consumer *consumer, struct error *err);

/* The next batch is the first one of the next epoch. */
void consumer_end_epoch(struct consumer *consumer);

/* Begins to read at a connection that was joined. */
void consumer_begin(struct consumer *consumer, struct connection *connection);

/* recover.c: joins a loader at the path, of which there may be none yet: tries as long
 * as options->takeover. had: samples of this epoch to go past, or NULL. */
struct connection *consumer_reach(struct consumer *consumer,
				  const struct sample_set *had, struct error *err);

/*
 * recover.c: continues when the connection brings no more batches, for the reason
 * (-errno) that bcast_take() gave, -ECONNRESET for a loader that is gone. 0: there is
 * another connection, or a pipeline of its own, and nothing is lost. -errno: the data
 * ends.
 */
int consumer_recover(struct consumer *consumer, struct held_batch *held, int reason,
		     struct error *err);

/* consumer_device.c: opens the device, if the program wants one, and after the join what
 * batches are copied to. 0, or -errno and one line. */
int consumer_open_gpu(struct consumer *consumer, struct error *err);
int consumer_open_twins(struct consumer *consumer, struct error *err);

/* Copies a batch that is complete; waits until one is. Both do nothing without a
 * device. */
void consumer_copy(struct consumer *consumer, const struct held_batch *held);
void consumer_copied(struct consumer *consumer, const struct held_batch *held);

/* As batch_source_ops. */
void consumer_device_ask(struct batch_source *delivery, void *stream);
uint32_t consumer_device_still(const struct consumer *consumer);
int consumer_device_wait(struct batch_source *delivery, struct dsa_device_batch *batch,
			 void *stream, struct error *err);
int consumer_device_release(struct batch_source *delivery,
			    const struct dsa_batch *batch, void *stream,
			    struct error *err);

#endif
