/*
 * prep.h - turns one encoded sample into the numbers a training step wants. Of a picture:
 *
 *	bytes -> decode (only the region the crop needs) -> crop, resize, flip
 *	      -> normalise -> out: 3 x size x size or size x size x 3
 *
 * Or in two, when samples of several kinds are made of one picture: `decoded` makes
 * canvases, a canvas (loader/prep/canvas.h) is what `canvas` takes for encoded bytes,
 * and out of it comes what `image` makes of the JPEG with the same seed: bit by bit,
 * unless the picture has more than 512 x 512 pixels and was reduced.
 *
 * A struct prep never changes after prep_open() and may be shared by threads;
 * each thread brings a struct prep_worker of its own, which holds its scratch
 * memory. A variant is one file in loader/prep/ plus one line in prep.c's table.
 */
#ifndef DSA_PREP_H
#define DSA_PREP_H

#include "loader/base/variants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct audio_info;
struct error;
struct prep;
struct prep_worker;

enum prep_layout { PREP_NCHW, PREP_NHWC };
#define PREP_TYPE(NAME, text, bytes) PREP_##NAME,
enum prep_type { PREP_TYPES(PREP_TYPE) TOKEN_TYPES(PREP_TYPE) };
enum prep_features { PREP_WAVEFORM, PREP_LOGMEL };
extern const char *const prep_type_names[]; /* "float32" ..., by enum prep_type */

struct prep_config {
	const char
		*op;   /* "image", or "raw": the bytes as they are, the null variant; or
			   "decoded", whatever else is asked for, and "canvas"; or
			   "tokens", which have type and length alone; or "audio",
			   which has evaluate, seconds, rate and features */
	bool evaluate; /* resize the short side to `resize`, centre crop; no draws */
	unsigned size; /* side of the square delivered, in pixels: 224 */
	unsigned resize; /* evaluation: short side before the crop: 256 */
	enum prep_layout layout;
	enum prep_type type;
	double scale[2];     /* RandomResizedCrop: share of the image's area: .08, 1 */
	double ratio[2];     /* RandomResizedCrop: width / height: 3/4, 4/3 */
	double flip;         /* probability of a horizontal flip: .5 */
	unsigned length;     /* of a window of tokens, which has one more: 1024 */
	unsigned token_bits; /* 16, 32: of files whose name does not say; 0: 16 */
	double seconds;      /* of a crop of a recording: 5 */
	unsigned rate;       /* Hz that it is resampled to: 16000 */
	enum prep_features features; /* that it becomes: its waveform */
	float mean[3]; /* of float output, on a 0..1 scale: out = (v/255 - mean) / std
			  */
	float std[3];
};

/* A sample is an array of these numbers. */
struct prep_shape {
	enum prep_type type;
	uint32_t dims; /* 1..PREP_DIMS */
	uint32_t size[3];
};
enum { PREP_DIMS = 3 };

/* The ImageNet training recipe: 224, NCHW, float32, mean .485 .456 .406, std .229 .. */
extern const struct prep_config prep_defaults;

struct prep_recording {
	const void *bytes; /* a whole file */
	size_t size;
	bool full;
};

struct prep *prep_open(const struct prep_config *config, struct error *err);
void prep_close(struct prep *prep);

/* What its numbers are, for people and to be compared: "float32 NCHW 224 ImageNet". */
enum { PREP_OUTPUT = 64 };
void prep_output(const struct prep_config *config, char text[PREP_OUTPUT]);

/* The same without normalisation and crop: "float32 NCHW 224", "int64 tokens 1024". */
void prep_words(const struct prep_config *config, char *text, size_t room);

/* Of a config that can be opened. */
struct prep_shape prep_shape(const struct prep_config *config);

/* Bytes that one sample takes in a batch. */
size_t prep_sample_bytes(const struct prep *prep);

/* NULL when memory is short. Freed before its prep is closed. */
struct prep_worker *prep_worker_new(const struct prep *prep);
void prep_worker_free(struct prep_worker *worker);

/*
 * Prepares one sample into out, prep_sample_bytes() long and aligned to 64 when
 * sample bytes are. `seed` decides crop and flip, and nothing else does: the same
 * (bytes, seed) gives the same numbers on any thread. Returns 0; -EBADMSG when the
 * bytes are no JPEG, end early, or are damaged in what the crop made us decode (damage
 * below the crop is not looked at; "decoded" looks at all), or are no canvas, which may
 * change while it is looked at, or no window of tokens that fit the type, or no
 * recording; -EFBIG when the image is unreasonable: more than 178,956,970 pixels (Pillow's
 * limit), more than its bytes can hold, more than 100 scans, or a recording's rate or
 * channels are; -ENOMEM. err says which and where, in one line, without the sample's name.
 * After a failure out holds anything and the worker is fit for the next sample.
 */
int prep_run(struct prep_worker *worker, const void *bytes, size_t size, uint64_t seed,
	     void *out, struct error *err);

/*
 * Pixels that the worker's last prep_run() had decoded, until it failed if it did: rows
 * that libjpeg-turbo wrote x their width, which is the crop's and what filter and
 * upsampling need beside it, from the edge of a block on. Rows above the crop, of which
 * it decodes the entropy code alone, are none; nor is what was decoded before (canvas),
 * or is not decoded at all (raw). As with the numbers, (bytes, seed) decides it, of one
 * version of libjpeg-turbo.
 */
uint64_t prep_pixels(const struct prep_worker *worker);

/*
 * What a recording is (loader/audio.h); with `full` all of it is decoded. Errors are those of
 * prep_run(); -ENOENT: the library for audio can't be had, and `err` says why.
 */
int prep_recording(const struct prep_recording *recording, struct audio_info *info,
		   struct error *err);

/* Its format in words, AUDIO_FORMAT bytes. */
void prep_recording_format(unsigned format, char *text);

#endif
