/* file_kind.h - which files of a folder are samples: that depends on what becomes of them.
 * Private to loader/source/. */
#ifndef DSA_SOURCE_FILE_KIND_H
#define DSA_SOURCE_FILE_KIND_H

#include <stdbool.h>
#include <stdint.h>

enum { FILE_ENDINGS = 5 };

struct file_kind {
	const char *prep;                  /* what is made of them */
	const char *words;                 /* "pictures" */
	const char *shown;                 /* for errors: ".jpg or .jpeg" */
	const char *endings[FILE_ENDINGS]; /* of names, in any case; then NULL */
	uint64_t seed; /* of the hash by which indexes of one folder are told apart */
};

/* Of a prep op; NULL and ops without files of their own: pictures. Never NULL. */
const struct file_kind *file_kind_of(const char *prep);

/* Whether a file is a sample, by its name. */
bool file_kind_has(const struct file_kind *kind, const char *name);

#endif
