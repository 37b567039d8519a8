/* new_folder.h - a folder for a new data set: made, or found empty; files appear in it whole
 * or not at all. */
#ifndef DSA_NEW_FOLDER_H
#define DSA_NEW_FOLDER_H

#include "loader/base/name.h"

#include <stdbool.h>
#include <stddef.h>

struct error;

#define NEW_FOLDER_TEMP ".part" /* behind the names of files that are not whole */

struct new_folder {
	const char *path;
	char name[NAME_SHOWN]; /* as it may be printed */
	int fd;                /* -1: could not be opened */
	bool made;             /* it was not there */
};

/* -ENOTEMPTY when there is something in it; or another -errno. Close it in either case. */
int new_folder_open(struct new_folder *folder, const char *path, struct error *err);
void new_folder_close(struct new_folder *folder);

/* -EINVAL when `path` lies in the folder `from`, a data set: it would become a class there
 * or more samples, and labels change. Either may be missing. */
int new_folder_check_outside(const char *path, const char *from, struct error *err);

/* Writes a file below it, whose folder is there. From any thread. 0 or -errno. */
int new_folder_put(const struct new_folder *folder, const char *path, const void *bytes,
		   size_t size);

/* The same, and the file is on the disk, was read from there and compared, before it has its
 * name: -EIO when it differs. What was left of an earlier try is written over. */
int new_folder_put_proven(const struct new_folder *folder, const char *path,
			  const void *bytes, size_t size);

/* Removes the folder itself, if it was made and is empty again. */
void new_folder_remove(const struct new_folder *folder);

#endif
