/* new_file.h - a file that gets its name only when it is complete, so that nobody ever
 * finds half of one. */
#ifndef DSA_NEW_FILE_H
#define DSA_NEW_FILE_H

#include <stdbool.h>

/* A file (0600) without a name, to be read and written, where `path` will lie; *named:
 * the file system can't do that, and it has the name from the start, which nothing had
 * before. Returns the descriptor or -errno. */
int new_file_make(const char *path, bool *named);

/* Gives it the name, which nothing may have. 0 or -errno. */
int new_file_name(int fd, const char *path);

#endif
