/*
 * differences.h - what differs between two runs and can slow a stage or speed it up,
 * each in words: counts that are exact, settings, the machine. No effect is looked at.
 */
#ifndef DSA_DIFFERENCES_H
#define DSA_DIFFERENCES_H

#include "profiler/profile.h"

/* How sure it is that it matters: the surest first. */
enum difference_rank {
	DIFFERENCE_COUNTED,  /* exact: the same each time */
	DIFFERENCE_SET,      /* settings, data set */
	DIFFERENCE_MEASURED, /* what came of these: hits, bytes from storage */
	DIFFERENCE_MACHINE,
	DIFFERENCE_PART, /* of what is slower: told where that is, and what may be why */
	DIFFERENCE_BESIDE, /* may matter: where nothing better explains it */
	DIFFERENCE_EFFECT  /* of another stage: explains, but is no difference */
};

/* What it does to the time that a stage takes of a sample. */
enum difference_way {
	DIFFERENCE_FASTER = -1,
	DIFFERENCE_NOTHING,
	DIFFERENCE_SLOWER,
	DIFFERENCE_EITHER
};

enum { DIFFERENCES_MOST = 64, DIFFERENCE_TEXT = 160 };

struct difference {
	enum difference_rank rank;
	enum difference_way way[STAGES];
	double size;                /* |ln| of its ratio; 0: it is no number */
	char text[DIFFERENCE_TEXT]; /* "mean read fell from 128 KiB to 4 KiB" */
	char aside[48];             /* "32 times as many reads", or empty */
};

struct differences {
	struct difference list[DIFFERENCES_MOST];
	unsigned count;
};

/* By rank, those of a rank by size. */
void differences_find(const struct profile *base, const struct profile *now,
		      struct differences *differences);
void differences_sort(struct differences *differences);

/* True where the bytes of the data set are estimated from the samples that were read. */
bool differences_is_estimated(const struct profile *profile);

/* Smaller effects are left out: points, or a ratio - 1. */
#define DIFFERENCES_LEAST .005

/*
 * Whether two estimates differ: their intervals do not overlap (NAN: none is known),
 * and the values are `least` apart. False where one is unknown.
 */
bool differences_are_clear(const struct interval *base, const struct interval *now,
			   double least);

/* Appends to a text in size bytes; "..." after the last whole character that fits. */
void differences_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
