/*
 * joader.h - the order in which jobs on overlapping data sets share what they have in
 * common: dependent sampling, after Joader (Xie et al., A Deep Learning Dataloader with
 * Shared Data Preparation, NeurIPS 2022), for several jobs at once.
 *
 * Each step gives every job one sample. A sample lies in the cell of those jobs that
 * still want it in their epoch; job k, which wants n(k) more, must take from a cell of
 * m samples with probability m / n(k). One number drawn for all jobs decides: each lays
 * its cells along 0..1, those that most jobs share first, and takes the cell in which
 * the number falls. Jobs that fall into the same cell take the same sample of it, drawn
 * evenly. So each job's epoch is a uniform permutation of its own data set whatever the
 * others do, and two jobs with as many samples left share with probability |common| /
 * n.
 *
 *	job 0's n(0) |  both  |  only 0   |
 *	job 1's n(1) |  both  |only 1|           u < min: the same sample for both
 *	             0   u                1
 *
 * A job that has seen all of its data set begins it again. Steps are drawn a pass at a
 * time; who comes or leaves counts from the next pass on. All calls with the pipeline's
 * lock held.
 */
#ifndef DSA_SHARE_JOADER_H
#define DSA_SHARE_JOADER_H

#include "loader/plan.h"

struct joader;

enum { JOADER_JOBS = 8, JOADER_STEPS = 256 /* of a pass */ };

struct joader_config {
	uint32_t count;       /* samples in all data sets together */
	const uint64_t *sets; /* of each sample: the data sets it is in, a bit each;
			       * outlives the joader */
	uint64_t seed;
};

struct joader *joader_open(const struct joader_config *config, struct error *err);
void joader_close(struct joader *joader);
struct plan *joader_plan(struct joader *joader);

/* A job on data set `set` takes a slot of the ring. Returns the samples of its epoch,
 * or -EBUSY when JOADER_JOBS are there. */
int64_t joader_join(struct joader *joader, uint32_t slot, unsigned set);

unsigned joader_jobs(const struct joader *joader); /* that are there */

/* It left; places for it that were drawn and not asked for are for nobody. */
void joader_leave(struct joader *joader, uint32_t slot);

#endif
