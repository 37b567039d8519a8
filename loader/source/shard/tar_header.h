/*
 * tar_header.h - what the blocks of a tar archive say: ustar, pax and GNU.
 *
 *	| header, 512 bytes | the member's bytes, up to the next 512 | header | ...
 *
 * Neither function takes memory or trusts a number.
 */
#ifndef DSA_TAR_HEADER_H
#define DSA_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_NAME = 256 };

enum tar_kind {
	TAR_END,   /* a block of zeros */
	TAR_FILE,  /* a regular file */
	TAR_OTHER, /* a folder, link or device; bytes that follow are to be skipped */
	TAR_PAX,   /* its bytes are of the next member: tar_pax_read() */
	TAR_PAX_GLOBAL, /* ... of all that follow */
	TAR_LONG_NAME,  /* its bytes are the name of the next member */
};

struct tar_header {
	enum tar_kind kind;
	uint64_t size;           /* bytes that follow, below 2^62 */
	char name[TAR_NAME + 1]; /* of a file */
};

/* What pax says of a member, as far as it matters here. */
struct tar_pax {
	const char *path; /* within the text; NULL: not said */
	size_t path_size;
	bool sized;
	uint64_t size;
};

/* 0; or -EBADMSG or -ENOTSUP, and *why says what is wrong with the block. */
int tar_header_read(const unsigned char block[TAR_BLOCK], struct tar_header *header,
		    const char **why);

/* Adds to *pax what records "LENGTH KEY=VALUE\n" say. The same errors. */
int tar_pax_read(const char *text, size_t size, struct tar_pax *pax, const char **why);

#endif
