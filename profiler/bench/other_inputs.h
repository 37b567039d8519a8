/* other_inputs.h - measures, once a run is over, what prep would take of other inputs. */
#ifndef DSA_OTHER_INPUTS_H
#define DSA_OTHER_INPUTS_H

#include <stdbool.h>

struct profile;
struct trace;

/* True where a signal waits that asks dsa to end. */
bool other_inputs_interrupted(void);

/* True where training was seen to wait for data, and nobody waits for dsa to end. */
bool other_inputs_matter(const struct profile *profile);

/*
 * Fills profile->recipes where training was seen to wait for data and its samples are
 * JPEGs (bench_recipes.h), in a small part of the run's budget. Where that can't be done
 * there are none, or fewer of them: a result is worth the same without. A signal that asks
 * dsa to end, which is blocked, ends this early.
 */
void other_inputs_measure(const struct trace *trace, struct profile *profile);

#endif
