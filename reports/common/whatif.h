/* whatif.h - predictions, and what came of them, in words and for a terminal. */
#ifndef DSA_WHATIF_H
#define DSA_WHATIF_H

#include "profiler/profile.h"

#include <stdio.h>

struct box;
struct form_style;

enum { WHATIF_WORDS = 192 };

/*
 * "2 cores, minio cache 50%, storage 200 MB/s" into `to`, which is returned; "as it
 * was" for no change. Letters, digits, spaces and , . % / + - alone: fit for every
 * form, whoever wrote the policy's name.
 */
const char *whatif_change_words(char to[WHATIF_WORDS],
				const struct profile_change *change);

/* "1.57x  (1.52 .. 1.61)"; "1.0x .. 1.9x (bounds)" without a value. */
enum { WHATIF_SPEED = 96 };
const char *whatif_speedup(char to[WHATIF_SPEED], const struct interval *speedup);

/* The same for a page: "1.57× (1.52 to 1.61)", "1.0× to 1.9× (bounds)". */
const char *whatif_gain(char to[WHATIF_SPEED], const struct interval *speedup);

/* True when the jobs of the run would be as many as they are: a gain is each one's. */
bool whatif_is_per_job(const struct profile *profile,
		       const struct profile_change *change);

/* Columns that not every table of predictions has. */
struct whatif_columns {
	bool jobs, costs;
};
struct whatif_columns whatif_columns(const struct profile *profile);

/* False when nobody asked the models, as of a run that was only observed. */
bool whatif_was_asked(const struct profile *profile);

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
