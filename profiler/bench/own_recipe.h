/* own_recipe.h - measures, once a run is over, libdsa's prep of what the program's own
 * loader prepared. */
#ifndef DSA_OWN_RECIPE_H
#define DSA_OWN_RECIPE_H

struct profile;

/*
 * Fills the estimates of profile->own_recipe where training was seen to wait for data and
 * libdsa has all of the recipe: its loader delivers batches of the same pictures on the
 * cores of the run, files warm, for a second or two. Where that can't be done they stay
 * unknown: a result is worth the same without. Without other threads.
 */
void own_recipe_measure(struct profile *profile);

#endif
