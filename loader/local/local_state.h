/* local_state.h - what the parts of a loader of the program's own share. Private to
 * loader/local/. */
#ifndef DSA_LOCAL_STATE_H
#define DSA_LOCAL_STATE_H

#include "loader/batch_source.h"
#include "loader/components.h"
#include "loader/ring.h"

struct dsa_device_batch;

/* Batches that the program may hold beyond those prepared ahead: its current one, and
 * one that is being filled meanwhile. */
enum { SPARE_SLOTS = 2 };

struct local {
	struct batch_source base;
	struct batch_source_config config;
	struct components parts;
	struct gpu *gpu; /* NULL: batches stay in memory */
	struct ring_shape shape;
	struct ring *ring;
	struct ring_reader *reader;
	struct plan *plan;
	struct pipeline *pipeline;
	struct warm_up *warm_up; /* NULL: no shards are read */
	struct windows *windows; /* NULL: not ours to drive, or not asked yet */
	bool asked;              /* for a batch */
	_Atomic bool stopped;
	_Atomic uint32_t lossy_epochs; /* dsa_stats.lossy_epochs */
};

/* The reader of the pool of synthetic batches; NULL: there is none. */
struct ring_reader *local_pool_reader(const struct local *local);

/* The reader that took the batch, NULL if none did, and the slot of its ring. */
struct ring_reader *local_reader(const struct local *local,
				 const struct dsa_batch *batch, uint32_t *slot);

/* local_device.c: opens the device, if the program wants one; then as
 * batch_source_ops. */
int local_open_gpu(struct local *local, struct error *err);
void local_device_ask(struct batch_source *delivery, void *stream);
uint32_t local_device_still(const struct batch_source *delivery);
int local_device_wait(struct batch_source *delivery, struct dsa_device_batch *batch,
		      void *stream, struct error *err);
int local_device_release(struct batch_source *delivery, const struct dsa_batch *batch,
			 void *stream, struct error *err);

#endif
