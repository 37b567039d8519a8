/* model_state.h - what the parts of the model share. Private to models/. */
#ifndef DSA_MODEL_STATE_H
#define DSA_MODEL_STATE_H

#include "models/predict/model.h"
#include "models/predict/sim_setup.h"

enum { MODEL_OFF = 2 * INPUTS }; /* each input higher and lower */

struct model {
	const struct profile *profile;
	struct inputs inputs;
	const struct prices *prices;
	double half;          /* relative, of the model as such */
	double drift[INPUTS]; /* times as long it takes now: drift.h */
	double handover_s; /* what a step of the run loses to threads that it wakes */
	double base;       /* the run as it was, simulated, samples/s, */
	double blocked; /* and the share of it in which the step waited for a batch */
	double bases[MODEL_OFF]; /* the same with each input off */
	struct profile_model self;
	char why[256];
};

/* The run's own real rate; of jobs together, the mean of one. */
struct interval model_measured(const struct profile *profile);

/* The windows of a stage, simulated. */
int model_rate(const struct model *model, const struct profile_change *change,
	       const struct aspect *aspect, enum stage stage,
	       struct simulation_outcome *outcome, struct error *err);

/* Real rates with each input off, one after another, at one side of bounds; per_s, the rate
 * itself, of one that is not there, is known for sure, or limits nothing. */
int model_rates(const struct model *model, const struct profile_change *change,
		int side, double per_s, double all[MODEL_OFF], struct error *err);

/*
 * From a value and what it becomes with each input off: deviations to either side add
 * up in squares, and the model's own `half` with them.
 */
struct interval model_spread(double value, const double all[MODEL_OFF], double half);

/* Sets out->why to what it assumes, if anything: of jobs by the simulation of real windows.
 * 0 or -ENOMEM. */
int predict_write_why(const struct model *model, const struct profile_change *change,
		      const struct simulation_outcome *real,
		      struct profile_prediction *out);

enum { MODEL_LISTED = 1000 }; /* keys that a bucket lists by a request */

/*
 * blocks.c: the samples of a bucket, if a loader fetched them in blocks, as DELI does:
 * models/cache/block_fetch.h, of what the run measured.
 *
 *	loader	the training process: one sample after another, and prepares it itself
 *	hit	takes its prep; a miss an answer of the bucket and its transfer before that
 *	fetch	lists the bucket, a thousand keys a request and one after another, as other
 *		fetches do in turn; then has as many requests in flight as the change, or
 *		the run, says
 */

/* -EINVAL or -ENODATA (err) where it makes no sense beside the rest of the change. */
int blocks_check(const struct profile *profile, const struct profile_change *change,
		 struct error *err);

/* The share of the data set that the FIFO holds. */
double blocks_held(const struct profile *profile, const struct profile_change *change);

/* Real steps in an epoch after the first, which finds what that left; of `cached` ones all
 * samples are held. Sets rate, hit ratio and waiting. 0, -EINVAL or -ENOMEM. */
int blocks_rate(const struct sim_setup *setup, const struct profile_change *change,
		bool cached, struct simulation_outcome *outcome, struct error *err);

/* What such an epoch asks the bucket for. The same errors. */
int blocks_traffic(const struct sim_setup *setup, const struct profile_change *change,
		   struct profile_traffic *traffic, struct error *err);

/* The mean of so many jobs. */
struct interval model_a_job(struct interval all, double jobs);

#endif
