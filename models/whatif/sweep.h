/*
 * sweep.h - what is to be different, as people type it, over a grid of values.
 *
 *	"cores" "1,2" and "cache" "0%..100%"  ->  22 changes
 *
 * A value, a list "1,2,4", a range "1..16", or a list of both:
 *
 *	cache             share 35%, or bytes 2G    by 10 points; bytes 5 values, evenly
 *	cache-policy      one of CACHE_POLICIES
 *	cores, workers, batch, resize               by 1 up to 16 values, else doubling
 *	gpu-speed         factor: 2, 2x, 0.5x       5 values, each by the same factor
 *	storage-bandwidth bytes/s: 500M, or none    5 values, each by the same factor
 *	storage-latency   5ms, or none              5 values, evenly
 *	storage-bucket    latency=30ms, latency=30ms,rate=3500    without ranges
 *	block-fetch       f=512, f=512,q=256,k=2048             without ranges
 *	fetch-depth                                 by 1 up to 16 values, else doubling
 *	jobs              4; or their speeds: 1x+0.5x    by 1 up to 16 values, else ..
 *	share             yes, no
 *	type              one of PREP_TYPES
 *	decoded           yes, no
 *	without           name of a part of the run's preparation
 *
 * Both ends of a range belong to it.
 */
#ifndef DSA_SWEEP_H
#define DSA_SWEEP_H

#include "profiler/profile_change.h"

struct error;

/* The keys, and how they are typed. */
/* clang-format off */
#define SWEEP_TABLE(X) \
	X(CACHE, "cache") \
	X(POLICY, "cache-policy") \
	X(CORES, "cores") \
	X(WORKERS, "workers") \
	X(SPEED, "gpu-speed") \
	X(BATCH, "batch") \
	X(BANDWIDTH, "storage-bandwidth") \
	X(LATENCY, "storage-latency") \
	X(BUCKET, "storage-bucket") \
	X(BLOCKS, "block-fetch") \
	X(DEPTH, "fetch-depth") \
	X(JOBS, "jobs") \
	X(SHARE, "share") \
	X(RESIZE, "resize") \
	X(TYPE, "type") \
	X(DECODED, "decoded") \
	X(WITHOUT, "without")
/* clang-format on */

#define SWEEP_KEY(NAME, name) SWEEP_##NAME,
enum sweep_key { SWEEP_TABLE(SWEEP_KEY) SWEEP_KEYS };

enum { SWEEP_VALUES = 128, SWEEP_CHANGES = 4096, SWEEP_NAME = 48 };

struct sweep_value {
	double number; /* in the unit of the key: share, bytes, bytes/s, s, policy */
	bool bytes;    /* of a cache: number is bytes */
	double rate;   /* of a bucket: requests/s; NAN: no limit */
	uint64_t block[3];                /* f, q and k of a fetch in blocks */
	double job_speed[PROFILE_SPEEDS]; /* of jobs: as in a change */
	char name[SWEEP_NAME];            /* of a part */
};

/* The values of each key; all 0 is no change. */
struct sweep {
	struct sweep_values {
		struct sweep_value value[SWEEP_VALUES];
		size_t count;
	} keys[SWEEP_KEYS];
};

/*
 * Reads the values of a key, in the place of those it had. 0, or -EINVAL and err says
 * what they may be; then the key is as it was.
 */
int sweep_set(struct sweep *sweep, const char *key, const char *values,
	      struct error *err);

/* The same of "KEY=VALUES". */
int sweep_set_pair(struct sweep *sweep, const char *pair, struct error *err);

/* Every combination, each once. No changes at all where nothing was set. */
struct sweep_list {
	struct profile_change *changes;
	size_t count;
};

/*
 * Makes the changes for that run: bytes of a cache become a share of its data set, a
 * cache without a policy keeps the run's, or is minio's where it had none, and without
 * a cache no policy counts. Jobs that share a loader without a number are those of the
 * run. Numbers keep the digits that a result file keeps, so that
 * a change can be found again there. 0; -EINVAL: the change makes no sense for this
 * run, or there are more than SWEEP_CHANGES; -ENODATA: the result lacks what is
 * needed; -ENOMEM. End the list with sweep_list_free() in either case.
 */
int sweep_changes(const struct sweep *sweep, const struct profile *profile,
		  struct sweep_list *list, struct error *err);
void sweep_list_free(struct sweep_list *list);

#endif
