/*
 * inspect.h - examines a data set: how many pictures of which classes, how large and of
 * what kind, and which are broken.
 */
#ifndef DSA_INSPECT_H
#define DSA_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

struct error;

struct inspect_config {
	const char *dataset; /* as source.h reads them */
	bool relist;         /* of a bucket or web server: list it anew */
	const char *image_feature,
		*label_feature; /* of records; NULL: as the first is */
	unsigned threads;       /* at least 1 */
	bool full;              /* decode every picture whole, not only its header */

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

/* Counts are of pictures whose header could be read; sizes are of all files. */
struct inspect {
	struct source *source; /* names of classes and samples, what was ignored */
	uint32_t count;        /* of files */
	uint64_t bytes;
	struct inspect_law size;          /* bytes */
	uint32_t readable;                /* 0: the two laws below are absent */
	struct inspect_law width, height; /* pixels */
	uint32_t sampling[INSPECT_SAMPLINGS], gray, cmyk, progressive, restarts;
	uint32_t classes, *per_class;
	uint32_t broken;
	struct inspect_broken *first; /* the broken ones, by sample number */
};

/*
 * Looks at every file of a data set. Without `full` a file is broken when its header
 * is, or when it ends early; with it, when the loader could not decode all of it.
 * Returns 0 and a result for inspect_free(); or -errno, when there is no such data set
 * or memory is short.
 */
int inspect_run(const struct inspect_config *config, struct inspect *result,
		struct error *err);

/* Frees what the result holds. */
void inspect_free(struct inspect *result);

#endif
