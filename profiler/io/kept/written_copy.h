/* written_copy.h - a file that is to be kept, and its second name or its copy in the folder
 * of those that are. */
#ifndef DSA_WRITTEN_COPY_H
#define DSA_WRITTEN_COPY_H

#include "profiler/io_page.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A file that is there. */
struct written_file {
	int fd; /* opened as a path alone, or by the program */
	struct stat status;
	bool again;          /* another one of this path is kept already */
	char path[PATH_MAX]; /* absolute */
};

/* Fills in what file->fd is. True of a file of data with a name, or a link, that has more
 * than `length` bytes. */
bool written_look_open(struct written_file *file, off_t length);

/* The same of a path, from the folder `at` on; flags as of openat(). True: the caller closes
 * file->fd. */
bool written_look(struct written_file *file, int at, const char *path, int flags,
		  off_t length);

/* True: `path` itself, which may be a link, is what is open as fd. */
bool written_is_at(int fd, const char *path);

/* It was made since dsa began. False also where the file system does not say. */
bool written_is_new(const struct io_page *page, const struct written_file *file);

/* Writes FOLDER/NUMBER; false: that is too long. */
bool written_place(const struct io_page *page, uint64_t number, char place[IO_PATH]);

/* How a file, or a link, gets to its place: as a whole, or not at all. */
typedef bool written_way(const struct written_file *file, const char *place);

written_way written_copy; /* with its owner, permissions and times */
written_way written_link; /* as its second name */
written_way
	written_move; /* as its name; an empty file as it takes the first, at once */

/* written_copy() of what is at a path, to where there may be something. */
bool written_copy_file(const char *path, const struct stat *status, const char *place);

#endif
