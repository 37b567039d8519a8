/*
 * reader_files.h - shards that stay open, for all samples that are read of them: to open one
 * costs about as much as to read a small sample, and on a network file system a round trip.
 * Private to loader/fetch/.
 */
#ifndef DSA_FETCH_READER_FILES_H
#define DSA_FETCH_READER_FILES_H

#include <stdbool.h>

struct reader_files;
struct source_place;

/* `flags` are those of openat(). NULL: memory is short. */
struct reader_files *reader_files_new(int flags);
void reader_files_free(struct reader_files *files);

/*
 * The descriptor of the file of a part, which stays open until they are freed. -1: the place
 * is no part, the file can't be opened, or as many are open as may be: 1024, or a quarter of
 * what the process may have. Any thread.
 */
int reader_files_get(struct reader_files *files, const struct source_place *place);

/* True if the file of a part is open, and another one lies there by now, or none. */
bool reader_files_replaced(const struct reader_files *files,
			   const struct source_place *place);

#endif
