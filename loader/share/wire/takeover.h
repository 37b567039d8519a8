/*
 * takeover.h - what a shared loader leaves in its ring (bcast_save()) for whoever goes on
 * after its death: another shared loader, or a job by itself. Private to loader/share/.
 */
#ifndef DSA_SHARE_TAKEOVER_H
#define DSA_SHARE_TAKEOVER_H

#include "loader/pipeline.h"
#include "loader/share/ring/bcast_ring.h"
#include "loader/share/schedule/shared_epoch.h"

/* Who left it, and of what. Saved as it is, the shared epoch behind it. */
struct takeover_head {
	uint64_t magic;
	uint64_t checksum; /* XXH3-64 of all behind it */
	uint64_t generation;
	uint64_t digest, seed, end_epoch; /* of the data set; of the shared epoch: */
	uint32_t samples, in_order;
	uint32_t mode;
	int32_t round; /* cut that rounds of lockstep begin at; -1: none */
	struct pipeline_point start;    /* of the ring's first place */
	int32_t entries[BCAST_READERS]; /* of each slot; -1: none */
	uint64_t lap;                   /* the shared epoch's from this one on */
	uint64_t shared_epoch_bytes;
};

struct takeover {
	struct takeover_head head;
	struct shared_epoch *shared;
	struct pipeline_point point; /* where the last place published ends */
};

size_t takeover_bytes(const struct shared_epoch_config *config); /* at the most */

/* Writes head, which is completed, and the shared epoch from head->lap on. Returns the bytes. */
size_t takeover_write(struct takeover_head *head, const struct shared_epoch *shared,
		      void *to);

/* Reads what a dead loader left, of which nothing is believed unchecked. 0 or -errno;
 * takeover_fini() after 0. */
int takeover_read(const struct bcast_orphan *orphan, struct takeover *takeover,
		  struct error *err);
void takeover_fini(struct takeover *takeover);

#endif
