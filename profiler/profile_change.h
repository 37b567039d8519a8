/*
 * profile_change.h - what is to be different from a run as it was.
 */
#ifndef DSA_PROFILE_CHANGE_H
#define DSA_PROFILE_CHANGE_H

#include "profiler/profile.h"

enum { PROFILE_SPEEDS = 16 }; /* jobs that may differ in speed */

/* What is to be different from the run as it was. 0, NAN or no word: nothing. Begin
 * with PROFILE_NO_CHANGE: a policy of number 0 is CACHE_NONE, which is a change. */
struct profile_change {
	unsigned cores, workers, batch;
	double cache_share; /* of the data set, 0..1; 0 is a change: no cache */
	struct profile_word cache_policy; /* of profile_caches */
	double gpu_speed;         /* factor: 2 computes a step in half the time */
	double storage_bandwidth; /* emulated, bytes/s; 0: as fast as it is */
	double storage_latency_s; /* emulated, of a read; 0: as fast as it is */
	/* The storage is a bucket: each answer takes so long, and it takes so many requests
	 * a second; rate NAN: without a limit. Of storage_bandwidth or without an end. */
	double bucket_latency_s, bucket_per_s;
	/* The bucket's samples come in blocks, as DELI fetches them: so many a fetch, which
	 * begins when no more than `block_threshold` are asked for beyond a batch, into a
	 * FIFO of `block_capacity`, 0: of the whole data set. */
	unsigned block_fetch, block_threshold, block_capacity;
	unsigned fetch_depth; /* reads in flight */
	unsigned jobs;        /* so many copies of the job at once on this machine */
	double job_speed[PROFILE_SPEEDS]; /* of the accelerator of each of these jobs,
					   * a factor; all 0: as fast as each other */
	bool share;      /* with one loader for all of them; false: each its own */
	unsigned resize; /* pictures are stored with a shorter side of so many pixels */
	struct profile_word type; /* of a batch's numbers, of profile_types */
	bool decoded;             /* samples are stored decoded, three bytes a pixel */
	bool libdsa; /* its loader, of so many workers as cores and defaults else, in place
		      * of the program's own: profile.own_recipe */
	char *without; /* part of making samples, left out; NULL: none is */
};

#define PROFILE_NO_CHANGE                                                              \
	((struct profile_change){.cache_share = NAN,                                   \
				 .cache_policy = PROFILE_NO_WORD,                      \
				 .gpu_speed = NAN,                                     \
				 .storage_bandwidth = NAN,                             \
				 .storage_latency_s = NAN,                             \
				 .bucket_latency_s = NAN,                              \
				 .bucket_per_s = NAN,                                  \
				 .type = PROFILE_NO_WORD})

/* A copy with words of its own. 0 or -ENOMEM. */
int profile_change_copy(struct profile_change *to, const struct profile_change *from);
void profile_change_free(struct profile_change *change); /* and makes it none */

/* True where the storage is to be a bucket. */
static inline bool profile_change_has_bucket(const struct profile_change *change)
{
	return !isnan(change->bucket_latency_s);
}

/* True when both ask for the same. */
bool profile_change_equal(const struct profile_change *a,
			  const struct profile_change *b);

/*
 * Prep workers after a change: those of libdsa's loader follow the cores where the run
 * had one a core and the change says nothing of them, up to the LIMIT_WORKERS of a
 * loader. 0: the run's are unknown.
 */
unsigned profile_change_workers(const struct profile *profile,
				const struct profile_change *change);

#endif
