/*
 * token_files.h - where the windows of files of tokens are.
 *
 *	file     |t0 t1 t2 ... tL|tL+1 ...     |         |rest|
 *	window 0 |<-- L + 1 -->|
 *	window 1              |<-- L + 1 -->|
 *
 * Private to loader/source/.
 */
#ifndef DSA_SOURCE_TOKEN_FILES_H
#define DSA_SOURCE_TOKEN_FILES_H

#include <stddef.h>
#include <stdint.h>

struct error;

struct token_file {
	uint64_t size;  /* bytes */
	uint64_t first; /* number of its first window */
	uint32_t shift; /* a token has 1 << shift bytes: 1 or 2 */
};

struct token_files {
	struct token_file *files; /* by number, size and shift given */
	uint32_t count;
	uint32_t length;  /* of a window, which has one token more; at least 1 */
	uint32_t windows; /* of all files */
	uint32_t without; /* files that have none */
	uint64_t bytes;   /* of all windows */
};

/* Numbers the windows. -EOVERFLOW: there are more than samples can be; -EINVAL: none. */
int token_files_lay_out(struct token_files *files, struct error *err);

/* The file that a window is in; sets its offset there, in bytes. */
const struct token_file *token_files_find(const struct token_files *files,
					  uint32_t window, uint64_t *offset);

/* Bytes of a window of a file. */
uint32_t token_files_window(const struct token_files *files,
			    const struct token_file *file);

#endif
