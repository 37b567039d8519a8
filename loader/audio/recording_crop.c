/* recording_crop.c - draws a crop, and streams its frames through the resampler. */
#include "loader/audio.h"
#include "loader/audio/logmel.h"
#include "loader/audio/polyphase.h"
#include "loader/audio/recording.h"
#include "loader/base/error.h"
#include "loader/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RATES = 4,      /* whose filters are kept */
	READ = 1 << 13, /* frames read at a time, beside a filter's taps */
};

struct audio {
	struct audio_config config;
	struct recording *recording;
	struct logmel *logmel; /* NULL: it is the waveform */
	float *wave;           /* of logmel */
	struct polyphase rates[RATES];
	unsigned next; /* of these to go */
	float *frames; /* that the next outputs are made of */
	size_t room;
};

/* The stretch of frames that is in memory. */
struct stretch {
	int64_t first;
	size_t count;
	int64_t last; /* frame that is wanted */
	uint64_t end; /* of the recording */
};

static void audio_close(void *state)
{
	struct audio *audio = state;

	recording_free(audio->recording);
	logmel_free(audio->logmel);
	for (unsigned i = 0; i < RATES; i++)
		polyphase_fini(&audio->rates[i]);
	free(audio->wave);
	free(audio->frames);
	free(audio);
}

static void *audio_open(const struct audio_config *config)
{
	struct audio *audio = calloc(1, sizeof(*audio));

	if (audio == NULL)
		return NULL;
	audio->config = *config;
	audio->recording = recording_new();
	if (config->logmel) {
		audio->logmel = logmel_new(config->rate);
		audio->wave = malloc(config->count * sizeof(*audio->wave));
	}
	if (audio->recording != NULL &&
	    (!config->logmel || (audio->logmel != NULL && audio->wave != NULL)))
		return audio;
	audio_close(audio);
	return NULL;
}

/* The filter for a rate, with room for its frames. NULL: out of memory. */
static const struct polyphase *audio_rate(struct audio *audio, unsigned from)
{
	struct polyphase *found = NULL;
	size_t room;

	for (unsigned i = 0; i < RATES && found == NULL; i++)
		if (audio->rates[i].from == from)
			found = &audio->rates[i];
	if (found == NULL) {
		found = &audio->rates[audio->next++ % RATES];
		if (polyphase_init(found, from, audio->config.rate) < 0)
			return NULL;
	}
	room = found->taps + READ;
	if (room > audio->room) {
		free(audio->frames);
		audio->frames = malloc(room * sizeof(*audio->frames));
		audio->room = audio->frames != NULL ? room : 0;
	}
	return audio->frames != NULL ? found : NULL;
}

/* Where in `all` samples the crop begins. */
static uint64_t audio_draw(const struct audio_config *config, uint64_t all,
			   uint64_t seed)
{
	struct random random = {seed};

	if (all <= config->count)
		return 0;
	if (config->evaluate)
		return (all - config->count) / 2;
	return (uint64_t)(random_unit(&random) * (double)(all - config->count + 1));
}

/* Appends frames, zeros before the recording and behind it. */
static int audio_append(struct audio *audio, struct stretch *stretch, size_t count,
			struct error *err)
{
	while (count > 0) {
		int64_t at = stretch->first + (int64_t)stretch->count;
		float *to = audio->frames + stretch->count;
		bool outside = at < 0 || (uint64_t)at >= stretch->end;
		uint64_t left = at < 0    ? (uint64_t)-at
				: outside ? count
					  : stretch->end - (uint64_t)at;
		size_t part = left < count ? (size_t)left : count;
		int result = 0;

		if (outside)
			memset(to, 0, part * sizeof(*to));
		else
			result = recording_read(audio->recording, to, part, err);
		if (result < 0)
			return result;
		stretch->count += part;
		count -= part;
	}
	return 0;
}

/* Frames up to `newest` and some more are there then, from the first that it needs on. */
static int audio_advance(struct audio *audio, const struct polyphase *rate,
			 struct stretch *stretch, int64_t newest, struct error *err)
{
	int64_t first = newest - (int64_t)rate->taps + 1;
	size_t gone = (size_t)(first - stretch->first), more;
	uint64_t left; /* to the last one */

	if (newest < stretch->first + (int64_t)stretch->count)
		return 0;
	stretch->count -= gone;
	memmove(audio->frames, audio->frames + gone,
		stretch->count * sizeof(*audio->frames));
	stretch->first = first;
	more = rate->taps + READ - stretch->count;
	left = (uint64_t)(stretch->last + 1 - first) - stretch->count;
	if (left < more)
		more = (size_t)left;
	return audio_append(audio, stretch, more, err);
}

/* Samples from `output` on. */
static int audio_resample(struct audio *audio, const struct polyphase *rate,
			  uint64_t frames, uint64_t output, float *out,
			  struct error *err)
{
	uint64_t all = polyphase_count(rate, frames);
	uint64_t left = all - output;
	uint32_t count =
		left < audio->config.count ? (uint32_t)left : audio->config.count;
	int64_t first = polyphase_newest(rate, output) - (int64_t)rate->taps + 1;
	struct stretch stretch = {
		.first = first,
		.last = polyphase_newest(rate, output + count - 1),
		.end = frames,
	};
	int result =
		recording_seek(audio->recording, first > 0 ? (uint64_t)first : 0, err);

	for (uint32_t i = 0; i < count && result == 0; i++) {
		int64_t newest = polyphase_newest(rate, output + i);

		result = audio_advance(audio, rate, &stretch, newest, err);
		if (result == 0)
			out[i] = polyphase_make(rate, output + i,
						audio->frames +
							(newest - stretch.first) -
							(rate->taps - 1));
	}
	memset(out + count, 0, (audio->config.count - count) * sizeof(*out));
	return result;
}

static int audio_crop(struct audio *audio, const struct audio_info *info, uint64_t seed,
		      float *out, struct error *err)
{
	const struct polyphase *rate = audio_rate(audio, info->rate);
	uint64_t output;

	if (rate == NULL)
		return error_sys(err, ENOMEM, "cannot resample %u Hz to %u", info->rate,
				 audio->config.rate);
	output = audio_draw(&audio->config, polyphase_count(rate, info->frames), seed);
	return audio_resample(audio, rate, info->frames, output, out, err);
}

static int audio_run(void *state, const struct audio_call *call, struct error *err)
{
	struct audio *audio = state;
	float *wave = audio->logmel != NULL ? audio->wave : call->out;
	struct audio_info info;
	int result =
		recording_begin(audio->recording, call->bytes, call->size, &info, err);

	if (result < 0)
		return result;
	result = audio_crop(audio, &info, call->seed, wave, err);
	recording_end(audio->recording);
	if (result == 0 && audio->logmel != NULL)
		logmel_run(audio->logmel, wave, audio->config.count, call->out);
	return result;
}

extern const struct audio_library dsa_audio;

__attribute__((visibility("default"))) const struct audio_library dsa_audio = {
	.open = audio_open,
	.close = audio_close,
	.run = audio_run,
	.look = recording_look,
	.format = recording_format,
};
