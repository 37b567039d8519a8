/* whatif_words.h - a change and its gain in words, the same in every report. */
#ifndef DSA_WHATIF_WORDS_H
#define DSA_WHATIF_WORDS_H

#include "profiler/profile_prediction.h"

#include <stdio.h>

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

/* "yes", "no": whether what was measured lies in the interval that was predicted; "too vague":
 * it was not measured well enough to judge that; NULL: there was no interval. */
const char *whatif_inside(const struct profile_verification *verification);

/* True when the jobs of the run would be as many as they are: a gain is each one's. */
bool whatif_is_per_job(const struct profile *profile,
		       const struct profile_change *change);

/* Columns that not every table of predictions has. */
struct whatif_columns {
	bool jobs, costs, traffic;
};
struct whatif_columns whatif_columns(const struct profile *profile);

/* What a million samples cost, of what an epoch does; NAN: unknown. */
double whatif_cost(const struct profile *profile, double epoch);

/* "42 GETs, 1 to list and 252 KB out": what an epoch of the run asks of servers; or
 * nothing. */
void whatif_traffic(FILE *out, const struct profile *profile);

/* "predicted this run's own speed within 1.2%; gains are of that prediction": the model; or
 * nothing, where that is not known. */
void whatif_check(FILE *out, const struct profile *profile);

/* "EUR"; "" where the result has none, or no such word. */
const char *whatif_currency(const struct profile *profile);

/* False when nobody asked the models, as of a run that was only observed. */
bool whatif_was_asked(const struct profile *profile);

#endif
