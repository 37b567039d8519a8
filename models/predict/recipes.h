/*
 * recipes.h - what a change of how samples are stored, prepared or delivered does to prep's
 * work and to the bytes stored, from the ways that the run measured (profile.recipes), or
 * from the parts of it (profile.parts).
 *
 * Between two sizes of pictures it goes by a line in the square of the size, as decoding
 * goes by pixels. Narrower numbers save as much of any picture: their saving is added.
 */
#ifndef DSA_RECIPES_H
#define DSA_RECIPES_H

#include "profiler/profile_change.h"

struct error;

struct recipe_effect {
	double prep;  /* CPU work of a sample, over that of the run's */
	double half;  /* relative half-width of it */
	double bytes; /* stored of a sample, over the run's */
	/* CPU work of a read, over the run's. Opening the file takes as much as ever,
	 * copying it goes by bytes, and how much is which is not known: the middle of
	 * these two, as far from one as from the other by a factor. */
	double fetch, fetch_half;
};

/* No effect where the change asks for none. -ENODATA: it was not measured (err: what was,
 * or why none was). */
int recipes_effect(const struct profile *profile, const struct profile_change *change,
		   struct recipe_effect *effect, struct error *err);

/* True where the change asks for any. */
bool recipes_asked(const struct profile_change *change);

#endif
