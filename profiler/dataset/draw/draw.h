/*
 * draw.h - the samples of a made data set, as files: which depend on their number and the
 * config alone.
 *
 * Sizes of all kinds follow what ImageNet's do: see size_law.h.
 */
#ifndef DSA_DRAW_H
#define DSA_DRAW_H

#include <stddef.h>
#include <stdint.h>

#define DRAW_CLASSES 100 /* at the most */
#define DRAW_NAME    32  /* bytes of the longest name of a class and its end */

struct draw_config {
	uint64_t seed;
	double size_mean; /* bytes */
	int quality;      /* of JPEG, 1 .. 100 */
	unsigned classes; /* sample n shows class n % classes */
};

/* A kind of samples. */
struct draw {
	const char *ending; /* of files' names: "jpg" */
	void (*name)(unsigned label,
		     char name[DRAW_NAME]); /* of a class, no '/' in it */

	/* What one thread makes them with; NULL when memory is short. */
	void *(*open)(const struct draw_config *config);
	void (*close)(void *state);
	/* Bytes valid until the next call, and their number; NULL when memory is short. */
	const uint8_t *(*take)(void *state, uint32_t number, size_t *size);
};

/* JPEGs; recordings of tones in noise (wav); tokens of 16 and of 32 bits. */
extern const struct draw draw_photos, draw_tones, draw_tokens_16, draw_tokens_32;

#endif
