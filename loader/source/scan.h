/*
 * scan.h - reads a whole tree of folders, several at once.
 *
 * Samples are regular files whose names end as those of their kind, in any case, or
 * symbolic links to them. Names that begin with a dot and lost+found are left out;
 * they and everything else are counted as ignored. A link to a folder is followed, but
 * not back to a folder that it lies in.
 */
#ifndef DSA_SOURCE_SCAN_H
#define DSA_SOURCE_SCAN_H

#include "loader/source/index/file_kind.h"
#include "loader/source/index/index.h"

#include <stdbool.h>

struct scan_file {
	const char *name; /* once the folder is read whole; until then it is at: */
	size_t at;        /* in the folder's text, which moves while it grows */
	uint32_t size;
};

/* A folder with what it holds, in path order: see scan_order(). */
struct scan_folder {
	struct scan_folder *parent; /* NULL: the data set itself */
	struct scan_folder *next;   /* waits to be read after this one */
	struct index_stamp stamp;
	struct scan_file *files;
	struct scan_folder **folders;
	char *text; /* names of the files */
	size_t file_room, folder_room, text_room, text_used;
	uint32_t file_count, folder_count;
	uint64_t ignored;
	uint32_t label;
	const char *name; /* the last part of path */
	char path[];      /* relative to the data set; "" is the data set itself */
};

/*
 * Order of full paths among the names of one folder: a folder's name counts as if
 * its '/' were there.
 */
int scan_order(const char *a, bool a_is_folder, const char *b, bool b_is_folder);

struct scan_config {
	int root; /* an open directory, shown as `dataset` in errors */
	const char *dataset;
	const struct file_kind *kind; /* which files are samples */
	unsigned threads;
};

/* Reads everything below the root. */
struct scan_folder *scan_tree(const struct scan_config *config, struct error *err);
void scan_free(struct scan_folder *folder);

#endif
