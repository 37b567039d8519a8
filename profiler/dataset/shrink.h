/*
 * shrink.h - a JPEG with a shorter side of so many pixels: decoded, resized with the
 * antialiased bilinear filter that prep has, encoded again. Rows stay as they are
 * stored, and how the picture wants to be turned stays in its Exif segment; all else
 * beside the pixels is left out.
 */
#ifndef DSA_SHRINK_H
#define DSA_SHRINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct shrinker;

/* One shrinker serves one thread. NULL when memory is short. */
struct shrinker *shrinker_new(void);
void shrinker_free(struct shrinker *shrinker);

struct shrunk {
	const uint8_t *bytes; /* the shrinker's until its next call, or as given: */
	size_t size;
	bool same; /* its shorter side was no longer than asked */
};

/* 0; -EBADMSG, -EFBIG, -ENOMEM as prep_run() has them, and err says what is wrong. */
int shrinker_run(struct shrinker *shrinker, const void *jpeg, size_t size,
		 unsigned shorter, int quality, struct shrunk *shrunk,
		 struct error *err);

#endif
