/* tar_archive.h - a tar archive in memory, as ustar says: files of one owner, of no date, so
 * that the same members are the same bytes. */
#ifndef DSA_TAR_ARCHIVE_H
#define DSA_TAR_ARCHIVE_H

#include "profiler/dataset/archive/archive.h"

enum { TAR_ARCHIVE_NAME = 100 }; /* bytes of the longest name */

/* 0; -ENOMEM; or -ENAMETOOLONG. */
int tar_archive_add(struct archive *archive, const char *name, const void *bytes,
		    size_t size);

/* Adds the mark at its end: 0 or -ENOMEM. */
int tar_archive_end(struct archive *archive);

#endif
