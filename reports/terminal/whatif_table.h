/* whatif_table.h - predictions, and what came of them, for a terminal. */
#ifndef DSA_WHATIF_TABLE_H
#define DSA_WHATIF_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct box;
struct form_style;
struct profile;

/*
 * The predictions of profile, or why there are none. The plain one: a table of all in
 * their order. Advice: those that are ranked, each with what remains and how to verify
 * it, then what does not help and why. 0 or -ENOMEM.
 */
int whatif_print(const struct profile *profile, const struct form_style *style,
		 FILE *out);
int whatif_print_advice(const struct profile *profile, const struct form_style *style,
			FILE *out);

/*
 * Predicted against measured of the verifications from `from` on, then how good all of
 * them are. 0 or -ENOMEM.
 */
int whatif_print_verifications(const struct profile *profile, size_t from,
			       const struct form_style *style, FILE *out);

/* A line for each of the `most` best ones, and whether anything else helps. */
void whatif_ranking(struct box *box, const struct profile *profile, uint64_t most);

#endif
