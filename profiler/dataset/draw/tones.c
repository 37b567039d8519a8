/*
 * tones.c - recordings that can be told apart: a chord of overtones that swells and fades,
 * in noise.
 *
 * The class is the pitch, in quarter tones from 110 Hz on, a little out of tune; how the
 * overtones are mixed, how loud it is and how noisy says nothing about it. As most speech
 * is kept: PCM of 16 bits, one channel, 16 kHz.
 */
#include "loader/base/random.h"
#include "profiler/dataset/draw/draw.h"
#include "profiler/dataset/draw/size_law.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWEST   110.  /* Hz */
#define TUNING   0.004 /* of the pitch, either way: less than half of a step */
#define LOUDEST  0.8   /* of what 16 bits hold */
#define FADE_MIN 0.3   /* Hz of swelling and fading */
#define FADE_MAX 3.

enum { RATE = 16000, CHANNELS = 1, BYTES = 2, HEAD = 44, STEPS = 24, OVERTONES = 4 };

struct tones {
	struct draw_config config;
	uint8_t *file;
};

static double tones_pitch(unsigned label)
{
	return LOWEST * exp2(label / (double)STEPS);
}

static void tones_name(unsigned label, char name[DRAW_NAME])
{
	snprintf(name, DRAW_NAME, "tone-%04.0fhz", tones_pitch(label));
}

static size_t tones_frames(double bytes)
{
	return bytes > HEAD + BYTES ? (size_t)((bytes - HEAD) / BYTES) : 1;
}

static void *tones_open(const struct draw_config *config)
{
	struct tones *tones = malloc(sizeof(*tones));

	if (tones == NULL)
		return NULL;
	tones->config = *config;
	tones->file =
		malloc(HEAD + BYTES * tones_frames(size_law_most(config->size_mean)));
	if (tones->file != NULL)
		return tones;
	free(tones);
	return NULL;
}

static void tones_close(void *state)
{
	struct tones *tones = state;

	if (tones == NULL)
		return;
	free(tones->file);
	free(tones);
}

/* ---- sound ---- */

/* A rotating pointer: its height is a sine, which costs no call of the C library. */
struct tone {
	double x, y, turn_x, turn_y, loudness;
};

static struct tone tones_begin(double hz, double loudness, struct random *random)
{
	double at = 2 * M_PI * random_unit(random), turn = 2 * M_PI * hz / RATE;

	return (struct tone){cos(at), sin(at), cos(turn), sin(turn), loudness};
}

static double tones_next(struct tone *tone)
{
	double x = tone->x * tone->turn_x - tone->y * tone->turn_y;

	tone->y = tone->x * tone->turn_y + tone->y * tone->turn_x;
	tone->x = x;
	return tone->y * tone->loudness;
}

static void tones_draw(unsigned label, struct random *random, uint8_t *to,
		       size_t frames)
{
	double hz = tones_pitch(label) * (1 + TUNING * (2 * random_unit(random) - 1));
	double whole = LOUDEST * (0.2 + 0.8 * random_unit(random)) * INT16_MAX;
	double noise = 0.02 + 0.2 * random_unit(random), sum = noise;
	struct tone chord[OVERTONES], swell;

	for (int i = 0; i < OVERTONES; i++) {
		double loudness = (0.2 + 0.8 * random_unit(random)) / (i + 1);

		chord[i] = tones_begin(hz * (i + 1), loudness, random);
		sum += loudness;
	}
	swell = tones_begin(FADE_MIN + (FADE_MAX - FADE_MIN) * random_unit(random), 0.4,
			    random);
	for (size_t i = 0; i < frames; i++) {
		double value = noise * (2 * random_unit(random) - 1);
		uint16_t stored;

		for (int j = 0; j < OVERTONES; j++)
			value += tones_next(&chord[j]);
		value *= whole / sum * (0.6 + tones_next(&swell));
		stored = htole16((uint16_t)(int16_t)lrint(value));
		memcpy(to + i * BYTES, &stored, BYTES);
	}
}

/* ---- the file ---- */

static uint8_t *tones_put(uint8_t *to, uint32_t value, size_t size)
{
	uint32_t stored = htole32(value);

	memcpy(to, &stored, size);
	return to + size;
}

static void tones_head(uint8_t *to, size_t frames)
{
	uint32_t bytes = (uint32_t)(frames * BYTES);

	memcpy(to, "RIFF", 4);
	tones_put(to + 4, HEAD - 8 + bytes, 4);
	memcpy(to + 8, "WAVEfmt ", 8);
	to = tones_put(to + 16, 16, 4);
	to = tones_put(to, 1, 2); /* PCM */
	to = tones_put(to, CHANNELS, 2);
	to = tones_put(to, RATE, 4);
	to = tones_put(to, RATE * CHANNELS * BYTES, 4);
	to = tones_put(to, CHANNELS * BYTES, 2);
	to = tones_put(to, 8 * BYTES, 2);
	memcpy(to, "data", 4);
	tones_put(to + 4, bytes, 4);
}

static const uint8_t *tones_take(void *state, uint32_t number, size_t *size)
{
	struct tones *tones = state;
	const struct draw_config *config = &tones->config;
	size_t frames = tones_frames(size_law(config->size_mean, config->seed, number));
	struct random random = {random_seed(config->seed, number, 1)};

	tones_head(tones->file, frames);
	tones_draw(number % config->classes, &random, tones->file + HEAD, frames);
	*size = HEAD + frames * BYTES;
	return tones->file;
}

const struct draw draw_tones = {
	.ending = "wav",
	.name = tones_name,
	.open = tones_open,
	.close = tones_close,
	.take = tones_take,
};
