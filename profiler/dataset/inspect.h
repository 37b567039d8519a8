/*
 * inspect.h - examines a data set: how many pictures, recordings or tokens of which
 * classes, how large and of what kind, and which are broken.
 */
#ifndef DSA_INSPECT_H
#define DSA_INSPECT_H

#include "profiler/dataset/sample_kind.h"

#include <stdbool.h>
#include <stdint.h>

struct error;

struct inspect_config {
	const char *dataset; /* as source.h reads them */
	const char *prep;    /* "image", "audio" or "tokens"; NULL: the first of these
			      * that there are samples of */
	unsigned length;     /* tokens of a window, which has one more */
	unsigned token_bits; /* of files whose names do not say: 16 or 32 */
	bool relist;         /* of a bucket or web server: list it anew */
	const char *image_feature,
		*label_feature; /* of records; NULL: as the first is */
	unsigned threads;       /* at least 1 */
	bool full; /* decode every picture or recording whole, not only its header */

	/* Called now and then by one thread at a time; may be NULL. */
	void (*progress)(void *arg, uint32_t done, uint32_t count);
	void *arg;
};

/* Least, 5, 25, 50, 75 and 95 % quantile, greatest: values that do occur. */
enum { INSPECT_QUANTILES = 7 };
extern const double inspect_shares[INSPECT_QUANTILES];

struct inspect_law {
	double mean;
	uint64_t quantile[INSPECT_QUANTILES];
};

struct inspect_broken {
	uint32_t sample;
	char why[256];
};

enum { INSPECT_SAMPLINGS = 6 };
extern const char *const inspect_sampling_names[INSPECT_SAMPLINGS]; /* "4:2:0", .. */

/* So many samples have this value. */
struct inspect_tally {
	uint64_t value;
	uint32_t count;
};

/* The values that there are, ascending. */
struct inspect_tallies {
	struct inspect_tally *list;
	uint32_t count;
};

/* Of recordings whose header could be read. */
struct inspect_audio {
	struct inspect_law length_ms;
	double seconds; /* of all */
	struct inspect_tallies rates, channels, formats;
};

struct inspect_tokens {
	uint32_t files;  /* that have a window */
	uint64_t tokens; /* in windows; */
	unsigned bits;   /* of each; 0: some have 16 and some 32 */
	uint32_t largest;
};

/* Counts are of pictures whose header could be read; sizes are of all files. */
struct inspect {
	enum sample_kind kind;
	struct source *source; /* names of classes and samples, what was ignored */
	uint32_t count;        /* of files, or windows of tokens */
	uint64_t bytes;
	struct inspect_law size;          /* bytes */
	uint32_t readable;                /* 0: the two laws below are absent */
	struct inspect_law width, height; /* pixels */
	uint32_t sampling[INSPECT_SAMPLINGS], gray, cmyk, progressive, restarts;
	struct inspect_audio audio;   /* of that kind alone */
	struct inspect_tokens tokens; /* the same */
	uint32_t classes, *per_class;
	uint32_t broken;
	struct inspect_broken *first; /* the broken ones, by sample number */
};

/*
 * Looks at every file of a data set; windows of tokens are all read. Without `full` a file
 * is broken when its header is, or when it ends early; with it, when the loader could not
 * decode all of it.
 * Returns 0 and a result for inspect_free(); or -errno, when there is no such data set
 * or memory is short.
 */
int inspect_run(const struct inspect_config *config, struct inspect *result,
		struct error *err);

/* Frees what the result holds. */
void inspect_free(struct inspect *result);

#endif
