/*
 * audio.c - crops of recordings. The work is done by a library of its own, so that
 * programs without audio need no libsndfile.
 */
#include "loader/audio.h"
#include "loader/base/error.h"
#include "loader/base/host/own_folder.h"
#include "loader/base/limits.h"
#include "loader/prep/op.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct audio_state {
	const struct audio_library *library;
	void *state; /* the library's */
};

/* ---- the library ---- */

/* It is never closed: its code stays mapped, as loaders come and go. */
static const struct audio_library *audio_library(struct error *err)
{
	char path[PATH_MAX];
	void *library;

	if (!own_folder_find(AUDIO_LIBRARY, path)) {
		error_set(err, ENOENT,
			  "prep=audio: " AUDIO_LIBRARY
			  " lies neither beside libdsa nor "
			  "in lib/dsa: install dsa again, with libsndfile1-dev and "
			  "libkissfft-dev");
		return NULL;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library != NULL)
		return dlsym(library, AUDIO_SYMBOL);
	error_set(err, ENOENT,
		  "prep=audio needs the packages libsndfile1 and libkissfft-float131: "
		  "%.120s",
		  dlerror());
	return NULL;
}

/* ---- the op ---- */

static uint32_t prep_audio_count(const struct prep_config *config)
{
	return (uint32_t)rint(config->seconds * config->rate);
}

static struct prep_shape prep_audio_shape(const struct prep_config *config)
{
	const uint32_t count = prep_audio_count(config);

	if (config->features == PREP_LOGMEL)
		return (struct prep_shape){
			PREP_F32, 2, {AUDIO_MELS, audio_frames(count, config->rate)}};
	return (struct prep_shape){PREP_F32, 1, {count}};
}

static int prep_audio_check(const struct prep_config *config, struct error *err)
{
	if (config->rate < LIMIT_RATE_LEAST || config->rate > LIMIT_RATE)
		return error_set(err, EINVAL, "rate is %d to %d Hz, not %u",
				 LIMIT_RATE_LEAST, LIMIT_RATE, config->rate);
	if (!(config->seconds > 0 && config->seconds <= LIMIT_SECONDS) ||
	    prep_audio_count(config) == 0)
		return error_set(err, EINVAL,
				 "seconds of a crop are above 0 and up to %d, not %g",
				 LIMIT_SECONDS, config->seconds);
	if (config->type != PREP_F32)
		return error_set(err, EINVAL, "audio is float32, not %s",
				 prep_type_names[config->type]);
	if (config->features == PREP_LOGMEL &&
	    audio_frames(prep_audio_count(config), config->rate) == 0)
		return error_set(
			err, EINVAL,
			"log-mel features take crops of 0.025 seconds or more, "
			"not %g",
			config->seconds);
	return audio_library(err) != NULL ? 0 : -ENOENT;
}

static void prep_audio_free(void *state)
{
	struct audio_state *audio = state;

	if (audio->state != NULL)
		audio->library->close(audio->state);
	free(audio);
}

static void *prep_audio_new(const struct prep_config *config)
{
	const struct audio_config asked = {
		.count = prep_audio_count(config),
		.rate = config->rate,
		.evaluate = config->evaluate,
		.logmel = config->features == PREP_LOGMEL,
	};
	struct audio_state *audio = calloc(1, sizeof(*audio));

	if (audio == NULL)
		return NULL;
	audio->library = audio_library(NULL);
	if (audio->library != NULL)
		audio->state = audio->library->open(&asked);
	if (audio->state != NULL)
		return audio;
	prep_audio_free(audio);
	return NULL;
}

static int prep_audio_run(void *state, const struct prep_sample *sample, void *out,
			  struct error *err)
{
	const struct audio_state *audio = state;
	const struct audio_call call = {sample->bytes, sample->size, sample->seed, out};

	return audio->library->run(audio->state, &call, err);
}

int prep_recording(const struct prep_recording *recording, struct audio_info *info,
		   struct error *err)
{
	const struct audio_library *library = audio_library(err);
	const struct audio_call call = {.bytes = recording->bytes,
					.size = recording->size};

	return library != NULL ? library->look(&call, recording->full, info, err)
			       : -ENOENT;
}

void prep_recording_format(unsigned format, char *text)
{
	const struct audio_library *library = audio_library(NULL);

	text[0] = '\0';
	if (library != NULL)
		library->format(format, text);
}

const struct prep_op prep_audio = {
	.name = "audio",
	.shape = prep_audio_shape,
	.check = prep_audio_check,
	.state_new = prep_audio_new,
	.state_free = prep_audio_free,
	.run = prep_audio_run,
};
