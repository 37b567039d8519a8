/*
 * model.h - a model of one measured run, which predicts what changes would do.
 *
 * Its inputs are the stages that the run measured alone: G (synthetic), prep's times
 * (prep-only and cached windows), S(q) (fetch-only), the cache's law. Before it
 * answers it must reproduce the run's real windows, which it has not seen but where
 * nothing came from storage and batches can't be given again, within 2 % and their
 * interval, added as squares.
 */
#ifndef DSA_MODEL_H
#define DSA_MODEL_H

#include "profiler/profile_prediction.h"

struct error;
struct model;
struct prices;

/*
 * The profile outlives the model. NULL: memory is short (-ENOMEM in err->code), or the
 * run lacks what a model needs (-ENODATA), and err names it.
 */
struct model *model_new(const struct profile *profile, struct error *err);
void model_free(struct model *model);

/* Prices for the costs; NULL: none. They outlive the model. */
void model_price(struct model *model, const struct prices *prices);

/*
 * Puts into the profile how well the model predicts the run itself and, with prices,
 * what an epoch costs as the run was. 0 or -ENOMEM.
 */
int model_note(const struct model *model, struct profile *profile);

/*
 * Predicts. The change is copied into *out, which begins all unknown, as
 * profile_add_prediction() makes it. 0; -EINVAL: the change makes no sense for this run
 * (err: which member, and what it may be); -ENODATA: this run does not show it (err:
 * why); -ENOMEM.
 */
int model_predict(const struct model *model, const struct profile_change *change,
		  struct profile_prediction *out, struct error *err);

/*
 * Only how many times as fast as the run was, in an eighth of the time; of the better end
 * where only bounds are known, but that on more cores batches are handed over no faster. The
 * same errors.
 */
int model_gain(const struct model *model, const struct profile_change *change,
	       double *gain, struct error *err);

/* Only the share of a step's time that it waits for fetch; of the better end where only bounds
 * are known. The same errors. */
int model_fetch_stall(const struct model *model, const struct profile_change *change,
		      double *share, struct error *err);

/* True where of so many cores only bounds are known. */
bool model_is_bounded(const struct model *model, unsigned cores);

#endif
