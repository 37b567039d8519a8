/*
 * format.h - numbers and sentences as people read them, the same in every report.
 *
 * Each number goes into a caller's buffer of FORMAT_SIZE bytes, which is returned, so
 * that it can stand in a printf. What is unknown becomes "n/a".
 */
#ifndef DSA_FORMAT_H
#define DSA_FORMAT_H

#include "profiler/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FORMAT_SIZE = 48 };

const char *format_rate(char *to, double per_s);    /* "1912", "38.4" */
const char *format_percent(char *to, double share); /* "49.8%" */
const char *format_points(char *to, const struct interval *interval); /* "±0.4" */
const char *format_bytes(char *to, double bytes);                     /* "110 KB" */
const char *format_seconds(char *to, double seconds);                 /* "4.2 ms" */
const char *format_count(char *to, uint64_t count);                   /* "1,281,167" */
const char *format_cost(char *to, double cost);                       /* "0.0131" */

/*
 * Tenths of a percent for `count` shares that sum to 1, rounded so that they sum to
 * exactly 1000 (largest remainder). Shares that do not sum to 1, or are unknown, are
 * rounded each for itself. Returns 1 when the tenths sum to 1000.
 */
int format_tenths(const double *shares, int count, long *tenths);

/*
 * Shares of the stages, as format_tenths(); an optional one that is unknown is 0.
 * `stalls` has STAGES elements, too: declared so, gcc 12 with -fsanitize=thread warns
 * falsely.
 */
int format_stalls(const struct interval *stalls, long tenths[STAGES]);

enum { FORMAT_STAGES = 32 * STAGES }; /* room for words of all stages */

/* True where there is a second proof to compare the first with. */
bool format_has_proof(const struct profile *profile);

/* "Compute, prep and fetch": the stages of the profile; with `labels`: "prep stall". */
const char *format_stages(char to[FORMAT_STAGES], const struct profile *profile,
			  bool labels);

/* 498 -> "49.8%". */
const char *format_tenth(char *to, long tenth);

/* Sentences, without markup, what comes from outside made visible. */
typedef void format_words(FILE *out, const struct profile *profile);

/* "4 workers · minio cache 35%": how it was loaded. What is unknown is left out. */
format_words format_setup;

/* What was emulated: "accelerator 4000 samples/s, storage 200 MB/s"; or nothing. */
format_words format_emulated;

/* How the run ended, when not "complete"; or nothing. */
format_words format_ending;

/* What measuring cost: "0.18%, at most 0.45%, of the CPU time of a sample". */
format_words format_overhead;

/* What it comes to, in one or two sentences. */
format_words format_verdict;

/* What `words` writes, as a string to be freed, or NULL when memory is short. */
char *format_string(format_words *words, const struct profile *profile);

#endif
