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

enum { FORMAT_SIZE = 48, FORMAT_RANGE = 2 * FORMAT_SIZE + 8 };

const char *format_rate(char *to, double per_s);    /* "1912", "38.4" */
const char *format_percent(char *to, double share); /* "49.8%" */
const char *format_points(char *to, const struct interval *interval); /* "±0.4" */
const char *format_bytes(char *to, double bytes);                     /* "110 KB" */
const char *format_seconds(char *to, double seconds);                 /* "4.2 ms" */
const char *format_budget(char *to, double seconds); /* "45s", "4m": rounded up */
const char *format_count(char *to, uint64_t count);  /* "1,281,167" */
const char *format_cost(char *to, double cost);      /* "0.0131" */

/*
 * "1890 .. 1935" with `between` as given: of rates and factors, of which none is below 0.
 * NULL: there is no interval.
 */
const char *format_range(char to[FORMAT_RANGE], const struct interval *interval,
			 const char *between);

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

/* Half of the widest interval of a share; NAN: there is none. */
double format_half(const struct profile *profile);

/* True where all that training waits is known, but not for what. */
bool format_is_whole(const struct profile *profile);

/* All that it waits, as far as the interval of compute tells. */
struct interval format_wait(const struct profile *profile);

enum { FORMAT_STAGES = 32 * STAGES }; /* room for words of all stages */

/* True where there is a second measurement, and shares to compare it with. */
bool format_has_proof(const struct profile *profile);

/*
 * Where the two differ by more than their intervals. The first compares whole steps, the
 * second sees only what the program waits in dsa_next(): when they differ in all that
 * training waits, the program does not wait as the second takes for granted; when only
 * in what for, either may be wrong. Where how long training waits is not known, they agree.
 */
enum format_proof { FORMAT_AGREES, FORMAT_DIFFERENCE_HOLDS, FORMAT_SPLIT_UNKNOWN };
enum format_proof format_proof_judge(const struct profile *profile);

/* What it is from: "time blocked", "device idle". */
const char *format_proof_name(const struct profile *profile);

/* "Compute, prep and fetch": the stages of the profile; with `labels`: "prep stall". */
const char *format_stages(char to[FORMAT_STAGES], const struct profile *profile,
			  bool labels);

/* 498 -> "49.8%". */
const char *format_tenth(char *to, long tenth);

/* Sentences, without markup, what comes from outside made visible. */
typedef void format_words(FILE *out, const struct profile *profile);

/* "1912 of a possible 3840 samples/s"; or nothing. */
format_words format_rates;

/* "4 workers · minio cache 35%": how it was loaded. What is unknown is left out. */
format_words format_setup;

/* What is copied to the device of the loader, in how long; nothing where it has none. */
format_words format_device;

/* What was emulated: "accelerator 4000 samples/s, storage 200 MB/s"; or nothing. */
format_words format_emulated;

/* Who else was busy meanwhile, and how many windows that disturbed; or nothing. */
format_words format_busy;
format_words format_gpus; /* what devices did in real windows, or why nobody knows */
format_words
	format_ranks; /* what ranks waited in collectives, and for whom; or nothing */

/* How the run ended, when not "complete", or how precise it got; or nothing. */
format_words format_ending;

/* True where format_ending() writes of the precision alone. */
bool format_ending_is_precision(const struct profile *profile);

/* True where the program crashed or hung: what a reader has to know first. */
bool format_is_crash(const struct profile *profile);

/* "The program crashed (SIGABRT); ...": of such an end; or nothing. */
format_words format_crash;

/* What the run took, where that is clearly more than the budget; or nothing. */
format_words format_took;

/* That two measurements of the shares disagree, if they do. */
format_words format_disagreement;

/* Time outside the steps, where there is much of it; or nothing. */
format_words format_outside;

/* Which of the program's loaders was measured, where it has several; or nothing. */
format_words format_which_loader;

/* That the loop evaluates, and does not train, or that another thread asks for its batches; or
 * nothing. */
format_words format_loop;

/* What the program itself reads beside the loader, where that is much; or nothing. */
format_words format_program_reads;

/* The costliest parts of preparation; or nothing. */
format_words format_parts;

/* Whether libdsa has what the program's own loader does to pictures, and how to write it; ""
 * where that is not known. */
format_words format_recipe;

/* What tells prep and fetch apart where no windows do; nothing where they do. */
format_words format_split;

/* How much was seen of what the program's own loader read, and why not all; or nothing. */
format_words format_seen;

/* The same where it matters to the shares; or nothing. */
format_words format_unseen;

/* What each start of an epoch costs beside the shares, and its end; or nothing. */
format_words format_epoch_starts;

/* Which features of records are picture and label; nothing where there are no records. */
format_words format_features;

/* A shuffle in blocks, and how far a batch is from uniform; nothing of a global one. */
format_words format_shuffle;

/* What servers were asked for: "5,120 GETs, 3 sent again; the listing was made 4m before";
 * and what a cache on local disk had; or nothing. */
format_words format_requests;
format_words format_disk_cache;

/* What the program wrote while its data was repeated, and how what it overwrote comes back;
 * or nothing. */
format_words format_written;
format_words format_kept;

/* What measuring cost: "0.18%, at most 0.45%, of the CPU time of a sample". */
format_words format_overhead;

/* What it comes to, in one or two sentences. */
format_words format_verdict;

/* What `words` writes, as a string to be freed, or NULL when memory is short. */
char *format_string(format_words *words, const struct profile *profile);

/* "1912 samples/s: compute 50.2%, prep 38.1%, fetch 11.7%; waits for ...": of one of several
 * jobs; to be freed, or NULL when memory is short. */
char *format_job(const struct profile *profile, const struct profile_job *job);

/* What a text tells beside verdict and shares, in the order to read it. The last has no
 * label. */
struct format_fact {
	const char *label; /* a word or two: "limit" */
	format_words *words;
};
extern const struct format_fact format_facts[];

#endif
