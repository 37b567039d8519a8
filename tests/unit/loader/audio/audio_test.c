/* audio_test.c - crops of recordings, against scipy's resampling and numpy's spectra. */
#include "loader/audio.h"
#include "loader/audio/logmel.h"
#include "loader/audio/polyphase.h"
#include "loader/base/error.h"
#include "tests/data/audio_golden.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sndfile.h>

extern const struct audio_library dsa_audio;

enum { FRAMES = 2000, GOLDEN = 400 };

/* As tests/data/audio.py makes it. */
static void make_noise(float *wave, size_t frames)
{
	uint32_t state = 1;

	for (size_t i = 0; i < frames; i++) {
		state = (state * 1103515245u + 12345u) & 0x7fffffff;
		wave[i] = (float)((int)(state >> 15) - 32768) / 32768;
	}
}

struct file {
	unsigned char *bytes;
	size_t size;
};

/* Noise in a file; channel c is the noise + c / 8, at an eighth of the volume. */
static struct file record(int format, unsigned rate, int channels, size_t frames)
{
	SF_INFO info = {
		.samplerate = (int)rate, .channels = channels, .format = format};
	SNDFILE *to = sf_open("recording", SFM_WRITE, &info);
	float *wave = malloc(frames * sizeof(*wave)), frame[8];
	struct file file;
	FILE *from;

	assert_non_null(to);
	make_noise(wave, frames);
	for (size_t i = 0; i < frames; i++) {
		for (int c = 0; c < channels; c++)
			frame[c] = channels == 1 ? wave[i] : (wave[i] + (float)c) / 8;
		assert_int_equal(sf_writef_float(to, frame, 1), 1);
	}
	sf_close(to);
	free(wave);
	file.size = (size_t)scratch_size("recording");
	file.bytes = malloc(file.size);
	from = fopen("recording", "r");
	assert_int_equal(fread(file.bytes, 1, file.size, from), file.size);
	fclose(from);
	return file;
}

static int crop(const struct audio_config *config, const struct file *file,
		uint64_t seed, float *out, struct error *err)
{
	const struct audio_call call = {file->bytes, file->size, seed, out};
	void *state = dsa_audio.open(config);
	int result;

	assert_non_null(state);
	result = dsa_audio.run(state, &call, err);
	dsa_audio.close(state);
	return result;
}

static void assert_close(const float *found, const float *wanted, size_t count,
			 double most)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)found[i] - (double)wanted[i]) <= most))
			fail_msg("%zu: %.7f, not %.7f", i, (double)found[i],
				 (double)wanted[i]);
}

TEST_WITH(a_rate_is_changed_as_scipy_does, scratch_setup, scratch_teardown)
{
	static const struct {
		unsigned from, to;
		const float *golden;
	} rates[] = {{44100, 16000, golden_44100_16000},
		     {8000, 11025, golden_8000_11025},
		     {48000, 16000, golden_48000_16000}};
	float out[GOLDEN];

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct file file = record(SF_FORMAT_WAV | SF_FORMAT_PCM_16,
					  rates[i].from, 1, FRAMES);
		const struct audio_config config = {.count = FRAMES * 4,
						    .rate = rates[i].to};
		float *all = malloc(config.count * sizeof(*all));

		assert_int_equal(crop(&config, &file, 5, all, NULL), 0);
		memcpy(out, all, sizeof(out));
		assert_close(out, rates[i].golden, GOLDEN, 1e-4);
		free(all);
		free(file.bytes);
	}
}

TEST_WITH(a_spectrum_is_what_numpy_says, scratch_setup, scratch_teardown)
{
	const struct audio_config config = {
		.count = FRAMES, .rate = 16000, .logmel = true};
	struct file file = record(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, FRAMES);
	float out[sizeof(golden_logmel) / sizeof(float)];

	assert_int_equal(AUDIO_MELS * audio_frames(FRAMES, 16000),
			 sizeof(out) / sizeof(*out));
	assert_int_equal(crop(&config, &file, 0, out, NULL), 0);
	assert_close(out, golden_logmel, sizeof(out) / sizeof(*out), 1e-4);
	free(file.bytes);
}

TEST(silence_has_the_least_power)
{
	struct logmel *logmel = logmel_new(16000);
	float wave[400] = {0}, out[AUDIO_MELS];

	logmel_run(logmel, wave, 400, out);
	for (unsigned i = 0; i < AUDIO_MELS; i++)
		assert_float_equal(out[i], logf(1e-10f), 1e-4f);
	logmel_free(logmel);
}

/* The place of a crop in the whole; -1: it is none of it. */
static int find_crop(const float *whole, size_t all, const float *part, size_t count)
{
	for (size_t at = 0; at + count <= all; at++) {
		size_t i = 0;

		while (i < count &&
		       fabs((double)whole[at + i] - (double)part[i]) < 1e-5)
			i++;
		if (i == count)
			return (int)at;
	}
	return -1;
}

/* So what is decoded before the crop's place does not matter. */
TEST_WITH(a_crop_is_a_part_of_the_whole, scratch_setup, scratch_teardown)
{
	static const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16,
				      SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
				      SF_FORMAT_OGG | SF_FORMAT_VORBIS};
	enum { LONG = 44100, ALL = 16000, PART = 1000 };
	static float whole[ALL], part[PART], again[PART];

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct file file = record(formats[i], 44100, 1, LONG);
		struct audio_config config = {.count = ALL, .rate = 16000};
		int first, second;

		assert_int_equal(crop(&config, &file, 1, whole, NULL), 0);
		config.count = PART;
		assert_int_equal(crop(&config, &file, 1, part, NULL), 0);
		assert_int_equal(crop(&config, &file, 1, again, NULL), 0);
		assert_memory_equal(part, again, sizeof(part));
		first = find_crop(whole, ALL, part, PART);
		assert_int_equal(crop(&config, &file, 2, part, NULL), 0);
		second = find_crop(whole, ALL, part, PART);
		assert_true(first >= 0 && second >= 0 && first != second);
		config.evaluate = true;
		assert_int_equal(crop(&config, &file, 2, part, NULL), 0);
		assert_int_equal(find_crop(whole, ALL, part, PART), (ALL - PART) / 2);
		free(file.bytes);
	}
}

TEST_WITH(channels_are_mixed_and_short_ones_end_with_zeros, scratch_setup,
	  scratch_teardown)
{
	const struct audio_config config = {.count = 300, .rate = 16000};
	struct file file = record(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 3, 200);
	float wave[200], out[300];

	make_noise(wave, 200);
	assert_int_equal(crop(&config, &file, 0, out, NULL), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_float_equal(out[i], (wave[i] + 1) / 8, 1e-5f);
	for (unsigned i = 200; i < 300; i++)
		assert_true(out[i] == 0);
	free(file.bytes);
}

TEST_WITH(what_is_no_recording_is_refused, scratch_setup, scratch_teardown)
{
	const struct audio_config config = {.count = 100, .rate = 16000};
	struct file file = record(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 1, 60000);
	struct error err = {0};
	float out[100];

	memset(file.bytes + file.size / 8, 0, file.size - file.size / 8);
	assert_int_equal(crop(&config, &file, 3, out, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "its header says"));
	memset(file.bytes, 'x', file.size);
	assert_int_equal(crop(&config, &file, 0, out, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "is no recording"));
	file.size = 0;
	assert_int_equal(crop(&config, &file, 0, out, &err), -EBADMSG);
	free(file.bytes);
	file = record(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 800000, 1, 100);
	assert_int_equal(crop(&config, &file, 0, out, &err), -EFBIG);
	assert_string_equal(err.message,
			    "has a rate of 800000 Hz: 1 to 384000 can be read");
	free(file.bytes);
}

/* Its sound is behind the chunks of a header, which says how much there is. */
static unsigned char *sound_of(const struct file *file)
{
	for (size_t at = 12; at + 8 < file->size; at++)
		if (memcmp(file->bytes + at, "data", 4) == 0)
			return file->bytes + at;
	fail_msg("there is no sound");
	return NULL;
}

TEST_WITH(a_recording_that_is_cut_short_is_refused, scratch_setup, scratch_teardown)
{
	static const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16,
				      SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG,
				      SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
				      SF_FORMAT_OGG | SF_FORMAT_VORBIS};
	const struct audio_config config = {.count = 100, .rate = 16000};
	float out[100];

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct file file = record(formats[i], 16000, 1, 6000);
		struct error err = {0};

		assert_int_equal(crop(&config, &file, 0, out, &err), 0);
		file.size -= 1000;
		assert_int_equal(crop(&config, &file, 0, out, &err), -EBADMSG);
		/* Versions of libsndfile differ in how long they say that the last one is. */
		assert_non_null(strstr(
			err.message,
			i < 3 ? "ends early: its header says 12000 bytes of sound, and "
				"11000 are there"
			      : "is cut short"));
		free(file.bytes);
	}
}

TEST_WITH(sound_of_a_stream_is_what_there_is, scratch_setup, scratch_teardown)
{
	static const uint32_t stated[] = {0xffffffff, 0x7ffff000, 0x80000000};
	const struct audio_config config = {.count = 100, .rate = 16000};
	struct file file = record(SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 6000);
	float out[100];

	for (size_t i = 0; i < sizeof(stated) / sizeof(stated[0]); i++) {
		const uint32_t size = htole32(stated[i]);

		memcpy(sound_of(&file) + 4, &size, sizeof(size));
		assert_int_equal(crop(&config, &file, 0, out, NULL), 0);
	}
	free(file.bytes);
}
