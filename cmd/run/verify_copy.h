/* verify_copy.h - copies of a data set with smaller pictures, which trials read. */
#ifndef DSA_VERIFY_COPY_H
#define DSA_VERIFY_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct apply;
struct error;
struct profile;

enum { VERIFY_COPIES = 16 }; /* of different sizes, at once */

struct verify_copies {
	const char *folder; /* where they are kept: the result's, absolute */
	bool quiet;         /* no progress */
	unsigned sizes[VERIFY_COPIES];
	size_t count;
};

/*
 * Has the loaders of a trial read a copy whose shorter sides are `resize` pixels, which is
 * made unless it is there already. 0; -ENODATA: it would not fit, or the data set can't be
 * converted; -EINTR; or another -errno.
 */
int verify_copy_apply(struct verify_copies *copies, const struct profile *profile,
		      unsigned resize, struct apply *apply, struct error *err);

/* Removes all that were made. */
void verify_copies_remove(const struct verify_copies *copies);

#endif
