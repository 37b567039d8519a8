/*
 * file.h - writes a file so that a reader finds the old one or the new one, whole.
 *
 *	fill -> .NAME.PID.tmp beside it -> fsync -> rename -> fsync of the folder
 */
#ifndef DSA_FILE_H
#define DSA_FILE_H

#include <stdio.h>

struct error;

/* Writes everything to out. Returns 0, or -errno with err filled. */
typedef int file_fill(FILE *out, const void *context, struct error *err);

/*
 * Makes path hold what fill writes. On failure (full disk, no right, fill's own) path
 * is as it was and no other file is left. A path that is no regular file, as
 * /dev/stdout, is written to directly. Returns 0 or -errno; the message names path.
 */
int file_save(const char *path, file_fill *fill, const void *context,
	      struct error *err);

/* Before long work: whether file_save() could make path now. 0 or -errno, as it would. */
int file_check(const char *path, struct error *err);

#endif
