/*
 * advice.h - ranks changes by how much they would help.
 *
 * Candidates: the smallest cache that removes the fetch stall, the cores that remove
 * the prep stall, both, a storage fast enough, a faster accelerator, a better policy;
 * of several jobs one loader for all.
 * Ranked by gain; nothing below the noise is advised.
 */
#ifndef DSA_ADVICE_H
#define DSA_ADVICE_H

struct error;
struct model;
struct profile;

/*
 * Puts profile.model and the predictions into the profile: those advised first, in
 * their order, then those looked at and not advised, with why. `run` is how the
 * commands name the result (a folder). 0 also when nothing is advised or the model may
 * not predict; -ENOMEM.
 */
int advise(struct profile *profile, const struct model *model, const char *run,
	   struct error *err);

#endif
