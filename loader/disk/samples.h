/* samples.h - what the samples of a source are called in a store. Private to
 * loader/disk/. */
#ifndef DSA_DISK_SAMPLES_H
#define DSA_DISK_SAMPLES_H

#include "loader/disk/stored.h"

#include <limits.h>

struct source;

/* Whoever asks for many names keeps one: it remembers the path of the last folder. */
struct samples_namer {
	int dir; /* -1: none so far */
	char path[PATH_MAX];
};

/*
 * The key of a sample: its name of where it lies, its size; and its version, for which of a
 * file its storage is asked, unless it is not wanted. 0; -ENODATA: it has none, as an object
 * without an ETag and a file that was just changed, and is not to be kept; -errno.
 */
int samples_key(const struct source *source, uint32_t sample,
		struct samples_namer *namer, bool version, struct stored_key *key);

#endif
