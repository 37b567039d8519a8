/* keys.h - the keys of a bucket, sorted out as a tree of folders would be. */
#ifndef DSA_SOURCE_KEYS_H
#define DSA_SOURCE_KEYS_H

#include "loader/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_NO_CLASS UINT32_MAX

struct keys {
	const char *prefix; /* that all keys begin with */
	/* Is what has this name, behind the last slash, a sample? */
	bool (*is_sample)(const void *context, const char *name);
	const void *context;
	uint64_t most; /* keys, at the least 1: more are no listing to wait for */
	uint64_t seen, ignored;
	struct error error; /* of keys_add() */

	struct keys_sample {
		size_t name, etag; /* where they begin in the text */
		uint64_t size;
		uint32_t class; /* in the order of the keys; KEYS_NO_CLASS */
	} * samples;
	size_t count, room;
	uint64_t plain;  /* samples in no folder */
	size_t *classes; /* their names */
	size_t class_count, class_room;
	char *text;
	size_t used, text_room;
	char last[1025]; /* key */
};

/*
 * Takes one key more, greater than the one before it. 0, or -errno and keys->error: keys
 * that don't ascend, or are not below the prefix; more than there may be; no memory.
 */
int keys_add(struct keys *keys, const char *key, size_t length, uint64_t size,
	     const char *etag);

void keys_fini(struct keys *keys);

#endif
