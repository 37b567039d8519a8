/*
 * audio.h - crops of recordings as numbers: what libdsa-audio.so does for libdsa.
 *
 *	wav, flac, ogg -> the frames of the crop -> mean of the channels -> rate -> waveform
 *	                                                                or log-mel
 *
 * That library alone needs libsndfile and kissfft: libdsa opens it when a data set wants
 * it, and finds in it one symbol, dsa_audio.
 */
#ifndef DSA_AUDIO_H
#define DSA_AUDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define AUDIO_LIBRARY "libdsa-audio.so"
#define AUDIO_SYMBOL  "dsa_audio"

enum { AUDIO_MELS = 80, AUDIO_FORMAT = 96 };

struct audio_config {
	uint32_t count; /* samples of a crop, at `rate` */
	unsigned rate;  /* Hz */
	bool evaluate;  /* the middle, instead of a place that the seed decides */
	bool logmel;    /* AUDIO_MELS x audio_frames() instead of the waveform */
};

/* Spectra are of 25 ms, 10 ms after one another; the last one ends within the crop. */
static inline uint32_t audio_window(unsigned rate)
{
	return (rate + 20) / 40;
}

static inline uint32_t audio_hop(unsigned rate)
{
	return (rate + 50) / 100;
}

/* 0: the crop is too short for one. */
static inline uint32_t audio_frames(uint32_t count, unsigned rate)
{
	return count < audio_window(rate)
		       ? 0
		       : 1 + (count - audio_window(rate)) / audio_hop(rate);
}

struct audio_call {
	const void *bytes; /* a whole file */
	size_t size;
	uint64_t seed;
	float *out;
};

/* What a file is. */
struct audio_info {
	uint64_t frames;
	unsigned rate, channels;
	unsigned format; /* a number, which format() puts into words */
};

/* Of each thread its own state. */
struct audio_library {
	void *(*open)(const struct audio_config *config); /* NULL: out of memory */
	void (*close)(void *state);
	/*
	 * The crop is a part of what resampling the whole recording gives, zeros behind
	 * if that is shorter. Decodes its frames alone. Returns 0; -EBADMSG: it is no
	 * recording, or ends early; -EFBIG: its numbers are unreasonable; -ENOMEM.
	 */
	int (*run)(void *state, const struct audio_call *call, struct error *err);

	/* Looks at a whole file; with `full` decodes all of it. As run(). */
	int (*look)(const struct audio_call *call, bool full, struct audio_info *info,
		    struct error *err);
	/* "WAV (Microsoft), Signed 16 bit PCM" */
	void (*format)(unsigned format, char text[AUDIO_FORMAT]);
};

#endif
