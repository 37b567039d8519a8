/*
 * folder.h - a source that says what a test wants: files in a folder of their own,
 * with the sizes that the index is to believe in.
 *
 * folder.c defines the calls of loader/source.h that a fetch makes weakly, so that tests
 * which open a real source get those.
 */
#ifndef DSA_TESTS_FOLDER_H
#define DSA_TESTS_FOLDER_H

#include "loader/source.h"

#include <stdatomic.h>

struct blob;

enum { FOLDER_MOST = 600, FOLDER_FILES = 9 };

struct source {
	atomic_bool asked[FOLDER_MOST]; /* for its place */
	char folder[64];
	int dir;
	uint32_t count;
	struct source_facts facts; /* all 0 */
	struct source_place place[FOLDER_MOST];
};

/* Files of all kinds of sizes, and names. */
extern const char *const folder_names[FOLDER_FILES];
extern const uint32_t folder_sizes[FOLDER_FILES];

struct source *folder_new(const char *where);    /* empty */
struct source *folder_usual(const char *where);  /* the files above */
struct source *folder_of_one(const char *where); /* a file of 1000 bytes 600 times */
void folder_free(struct source *source);

/* Adds a file of `size` bytes which the index believes to have `told` bytes. */
void folder_add(struct source *source, const char *name, size_t size, uint32_t told);

/* What byte i of a file is that folder_add() made. */
unsigned char folder_byte(const char *name, size_t i);

/* Fails the test unless the blob holds such a file. */
void folder_check(const struct blob *blob, const char *name, size_t size);

/* The same for the part of it that begins at an offset. */
void folder_check_part(const struct blob *blob, const char *name, size_t offset,
		       size_t size);

#endif
