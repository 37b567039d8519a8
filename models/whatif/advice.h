/*
 * advice.h - ranks changes by how much they would help.
 *
 * Every stall has its remedies looked at (remedy.h); those that don't pay are listed with
 * the reason. Ranked by gain, of bounds by the certain one; nothing below the noise is
 * advised. A faster accelerator and fewer cores are always asked about.
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
