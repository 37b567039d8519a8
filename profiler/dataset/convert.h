/*
 * convert.h - a copy of a data set of JPEGs whose pictures are smaller.
 *
 *	FROM/class/x.jpg  ->  TO/class/x.jpg, its shorter side at most `resize` pixels
 *
 * Pictures that are no larger, and files that can't be decoded, are copied as they are, so
 * that the copy has the same samples in the same order; files that can't be read are left
 * out. Classes without samples have folders, too, so that labels stay the same.
 */
#ifndef DSA_CONVERT_H
#define DSA_CONVERT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct source;

struct convert_config {
	const char *from; /* a folder per class */
	const char *to;   /* is made, or is empty */
	unsigned resize;  /* pixels of the shorter side */
	int quality;      /* of JPEG, 1 .. 100 */
	unsigned threads; /* at least 1 */

	/* Set by a signal handler or another thread to give up; may be NULL. */
	const atomic_bool *stop;
	/* Called by one thread at a time; may be NULL. */
	void (*progress)(void *arg, size_t done, size_t all);
	void *arg;
};

#define CONVERT_SOURCE "tree" /* the kind of source that can be converted */

enum { CONVERT_NAMED = 8, CONVERT_QUALITY = 92 };

struct convert_result {
	bool audio; /* they are recordings */
	uint32_t samples, converted, resized;
	uint32_t broken;            /* not decoded, or not read; */
	char *named[CONVERT_NAMED]; /* the first of them: "b/x.jpg: is no JPEG" */
	uint32_t at[CONVERT_NAMED]; /* their samples */
	uint64_t bytes_before, bytes;
	double seconds; /* wall time */
};

/*
 * 0 and *result, which convert_result_free() ends; or -errno: -ENOTEMPTY when there is
 * something in `to`, -ENOTSUP when `from` is no such folder, -ECANCELED when stopped. After
 * a failure everything that was made is removed again.
 */
int convert_run(const struct convert_config *config, struct convert_result *result,
		struct error *err);
/* Counts a broken sample. The first ones of the data set are named, in its order, whichever
 * thread meets them first; one thread at a time. */
void convert_result_broken(struct convert_result *result, const struct source *source,
			   uint32_t sample, const struct error *why);
void convert_result_free(struct convert_result *result);

#endif
