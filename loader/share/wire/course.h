/*
 * course.h - the order in which a shared loader reads its data set for many jobs.
 *
 * Jobs begin anywhere. A job that begins in the middle of an epoch begins at the running
 * position and wraps round (circular join): its epoch is the rest of this one and then
 * what went before it. So that all jobs go on sharing every sample, the data set is cut
 * in two there: each part is shuffled in itself, anew each time, and the parts follow one
 * another for ever.
 *
 *	first job   |-------- epoch 0 ---------|-------- epoch 1 ---------|--
 *	second job            |-------- epoch 0 ---------|-------- epoch 1 -
 *	laps        |    A    |       B        |    A'   |       B'       |  A''
 *	            cut 0     cut 1            cut 0     cut 1
 *
 * A and A' hold the same samples in another order. Each job's first epoch is a rotation of
 * a uniform permutation, so a uniform one itself; but samples of A and B are not mixed
 * while a job begins at the cut between them. When the last job of a cut left, the parts
 * beside it become one at the next lap that begins there. With one part, lap e is the
 * permutation of epoch e that a loader of its own has (sampler.h), and with more it is
 * that permutation, of each part those that are in it.
 *
 * All calls with the pipeline's lock held.
 */
#ifndef DSA_SHARE_COURSE_H
#define DSA_SHARE_COURSE_H

#include "loader/plan.h"

#include <stddef.h>

struct course;

struct course_config {
	uint32_t count; /* samples in the data set */
	uint64_t seed;
	bool in_order;
	uint64_t end_epoch; /* rounds, then the data ends; UINT64_MAX: no end */
};

/* Cuts at a time; laps that are kept, the newest included, and at least two data sets
 * of positions and so many more. */
enum { COURSE_CUTS = 64, COURSE_LAPS = 512, COURSE_AHEAD = 1 << 20 };

struct course *course_open(const struct course_config *config, struct error *err);
struct plan *course_plan(struct course *course); /* freed by course_close() */
void course_close(struct course *course);

/*
 * Laps beyond this one were asked for too early, by a pipeline that was put back, or by a
 * loader that died: they are laid out again when they are asked for, with the same samples
 * unless a job begins before. Those that parts have changed since stay.
 */
void course_take_back(struct course *course, uint64_t lap);

/*
 * A job begins at this position of a lap, beyond which all are taken back; the lap ends
 * there, unless position is 0 or its end (then the job begins with the next lap). What
 * was asked for from there on was thrown away; the lap's positions keep their samples.
 * Returns the cut's number (of which it is an owner now); -EBUSY: there are COURSE_CUTS;
 * -EINVAL: that is no place to begin at, or a lap beyond stays.
 */
int course_cut(struct course *course, uint64_t lap, uint32_t position);

/* One more job, or one job less, that begins at a cut that has an owner. */
void course_ref(struct course *course, unsigned cut);
void course_put(struct course *course, unsigned cut);

/* The lap in which a cut began last, or that is to begin with it. UINT64_MAX: it is to
 * come, in a lap that nobody asked for yet. */
uint64_t course_began(const struct course *course, unsigned cut);

/* The cut at which a lap begins, as it was then; -1: it was not asked for yet, or is not
 * kept any more. */
int course_cut_of(struct course *course, uint64_t lap);

/* Parts that the data set is in at the moment. */
unsigned course_parts(const struct course *course);

/*
 * The samples of `places` further places from a position on, of which the positions of
 * this lap below `stolen` are used already. At most one data set beyond the newest lap.
 * samples has room for `places`; returns how many there are.
 */
uint32_t course_rest(struct course *course, uint64_t lap, uint32_t position,
		     uint32_t stolen, uint32_t places, uint32_t *samples);

/*
 * For a loader that takes over. What is saved are the laps from `lap` on and all that
 * comes after them, owners of cuts included; bytes are checked: -EBADMSG.
 */
size_t course_state_bytes(const struct course_config *config); /* at the most */
size_t course_save(const struct course *course, uint64_t lap, void *state);
struct course *course_load(const struct course_config *config, const void *state,
			   size_t bytes, struct error *err);

#endif
