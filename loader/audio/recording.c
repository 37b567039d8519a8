/* recording.c - libsndfile over memory. */
#include "loader/audio/recording.h"
#include "loader/base/error.h"

#include <endian.h>
#include <errno.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14 }; /* numbers decoded at a time */

/* Programs that cannot go back to a header say 0 there, or something near 2 or 4 GB. */
#define WAV_STREAMED UINT32_C(0x7fff0000)

struct recording {
	const unsigned char *bytes;
	sf_count_t size, at;
	SNDFILE *file;
	SF_INFO info;
	float chunk[CHUNK];
};

/* ---- a file in memory ---- */

static sf_count_t recording_size(void *context)
{
	const struct recording *recording = context;

	return recording->size;
}

static sf_count_t recording_move(sf_count_t offset, int whence, void *context)
{
	struct recording *recording = context;
	sf_count_t from = whence == SEEK_SET   ? 0
			  : whence == SEEK_CUR ? recording->at
					       : recording->size;

	if (offset < -from || offset > recording->size - from)
		return -1;
	recording->at = from + offset;
	return recording->at;
}

static sf_count_t recording_get(void *to, sf_count_t count, void *context)
{
	struct recording *recording = context;
	sf_count_t left = recording->size - recording->at;

	if (count > left)
		count = left;
	if (count <= 0)
		return 0;
	memcpy(to, recording->bytes + recording->at, (size_t)count);
	recording->at += count;
	return count;
}

static sf_count_t recording_tell(void *context)
{
	const struct recording *recording = context;

	return recording->at;
}

static sf_count_t recording_put(const void *from, sf_count_t count, void *context)
{
	(void)from;
	(void)count;
	(void)context;
	return 0;
}

/* ---- chunks of a WAV ---- */

static bool recording_is_wav(const struct recording *recording)
{
	const unsigned char *bytes = recording->bytes;

	return recording->size >= 12 && memcmp(bytes + 8, "WAVE", 4) == 0 &&
	       (memcmp(bytes, "RIFF", 4) == 0 || memcmp(bytes, "RIFX", 4) == 0 ||
		memcmp(bytes, "RF64", 4) == 0);
}

/* The number behind a chunk's name: low byte first, but for RIFX. */
static uint32_t recording_chunk_size(const struct recording *recording,
				     const unsigned char *chunk)
{
	uint32_t size;

	memcpy(&size, chunk + 4, sizeof(size));
	return recording->bytes[3] == 'X' ? be32toh(size) : le32toh(size);
}

static int recording_check_sound(uint64_t stated, uint64_t there, struct error *err)
{
	if (stated <= there || (stated >= WAV_STREAMED && stated <= UINT32_MAX))
		return 0;
	return error_set(err, EBADMSG,
			 "ends early: its header says %llu bytes of sound, and %llu "
			 "are there",
			 (unsigned long long)stated, (unsigned long long)there);
}

/* What libsndfile takes for the end of the sound where the file ends before it. */
static int recording_check_end(const struct recording *recording, struct error *err)
{
	uint64_t size = (uint64_t)recording->size, at = 12, large = 0;

	while (recording_is_wav(recording) && size - at >= 8) {
		const unsigned char *chunk = recording->bytes + at;
		uint64_t stated = recording_chunk_size(recording, chunk);

		at += 8;
		if (memcmp(chunk, "data", 4) == 0)
			return recording_check_sound(
				stated == UINT32_MAX ? large : stated, size - at, err);
		if (stated > size - at)
			break;
		if (memcmp(chunk, "ds64", 4) == 0 && stated >= 16) {
			memcpy(&large, chunk + 16, sizeof(large));
			large = le64toh(large);
		}
		at += stated;
		at += at & 1 && at < size;
	}
	return 0;
}

/* ---- frames ---- */

struct recording *recording_new(void)
{
	return calloc(1, sizeof(struct recording));
}

void recording_free(struct recording *recording)
{
	free(recording);
}

static int recording_check(const SF_INFO *info, struct error *err)
{
	if (info->channels < 1 || info->channels > RECORDING_CHANNELS)
		return error_set(err, EFBIG, "has %d channels: 1 to %d can be mixed",
				 info->channels, RECORDING_CHANNELS);
	if (info->samplerate < 1 || info->samplerate > RECORDING_RATE)
		return error_set(err, EFBIG, "has a rate of %d Hz: 1 to %d can be read",
				 info->samplerate, RECORDING_RATE);
	if (info->frames < 1)
		return error_set(err, EBADMSG, "has no frames, or is cut short");
	if (info->frames == SF_COUNT_MAX)
		return error_set(err, EBADMSG,
				 "is cut short: nothing says how long it is");
	if (info->frames > RECORDING_FRAMES)
		return error_set(err, EFBIG, "has %lld frames, which is no length",
				 (long long)info->frames);
	return 0;
}

int recording_begin(struct recording *recording, const void *bytes, size_t size,
		    struct audio_info *info, struct error *err)
{
	SF_VIRTUAL_IO memory = {recording_size, recording_move, recording_get,
				recording_put, recording_tell};
	int result;

	recording->bytes = bytes;
	recording->size = (sf_count_t)size;
	recording->at = 0;
	recording->info = (SF_INFO){0};
	recording->file =
		sf_open_virtual(&memory, SFM_READ, &recording->info, recording);
	if (recording->file == NULL)
		return error_set(err, EBADMSG, "is no recording: %s",
				 sf_strerror(NULL));
	result = recording_check(&recording->info, err);
	if (result == 0)
		result = recording_check_end(recording, err);
	if (result < 0) {
		recording_end(recording);
		return result;
	}
	*info = (struct audio_info){
		.frames = (uint64_t)recording->info.frames,
		.rate = (unsigned)recording->info.samplerate,
		.channels = (unsigned)recording->info.channels,
		.format = (unsigned)recording->info.format,
	};
	return 0;
}

void recording_end(struct recording *recording)
{
	sf_close(recording->file);
	recording->file = NULL;
}

int recording_seek(struct recording *recording, uint64_t frame, struct error *err)
{
	return sf_seek(recording->file, (sf_count_t)frame, SEEK_SET) ==
			       (sf_count_t)frame
		       ? 0
		       : error_set(err, EBADMSG,
				   "has no frame %llu, though its header "
				   "says %lld",
				   (unsigned long long)frame,
				   (long long)recording->info.frames);
}

static void recording_mix(const float *chunk, unsigned channels, size_t frames,
			  float *mono)
{
	for (size_t i = 0; i < frames; i++) {
		float sum = 0;

		for (unsigned c = 0; c < channels; c++)
			sum += chunk[i * channels + c];
		mono[i] = sum / (float)channels;
	}
}

int recording_read(struct recording *recording, float *mono, size_t frames,
		   struct error *err)
{
	const unsigned channels = (unsigned)recording->info.channels;
	const size_t most = CHUNK / channels;

	while (frames > 0) {
		size_t wanted = frames < most ? frames : most;

		if (sf_readf_float(recording->file, recording->chunk,
				   (sf_count_t)wanted) != (sf_count_t)wanted)
			return error_set(err, EBADMSG,
					 "ends early, or is damaged: its header says "
					 "%lld frames",
					 (long long)recording->info.frames);
		recording_mix(recording->chunk, channels, wanted, mono);
		mono += wanted;
		frames -= wanted;
	}
	return 0;
}

/* ---- the whole of it ---- */

static int recording_decode(struct recording *recording, uint64_t frames,
			    struct error *err)
{
	float mono[1 << 10];
	int result = 0;

	while (frames > 0 && result == 0) {
		size_t part = sizeof(mono) / sizeof(mono[0]);

		if (frames < part)
			part = (size_t)frames;
		result = recording_read(recording, mono, part, err);
		frames -= part;
	}
	return result;
}

int recording_look(const struct audio_call *call, bool full, struct audio_info *info,
		   struct error *err)
{
	struct recording *recording = recording_new();
	int result;

	if (recording == NULL)
		return error_sys(err, ENOMEM, "cannot look at a recording");
	result = recording_begin(recording, call->bytes, call->size, info, err);
	if (result == 0) {
		if (full)
			result = recording_decode(recording, info->frames, err);
		recording_end(recording);
	}
	recording_free(recording);
	return result;
}

void recording_format(unsigned format, char text[AUDIO_FORMAT])
{
	SF_FORMAT_INFO whole = {.format = (int)format & SF_FORMAT_TYPEMASK};
	SF_FORMAT_INFO inner = {.format = (int)format & SF_FORMAT_SUBMASK};

	sf_command(NULL, SFC_GET_FORMAT_INFO, &whole, sizeof(whole));
	sf_command(NULL, SFC_GET_FORMAT_INFO, &inner, sizeof(inner));
	snprintf(text, AUDIO_FORMAT, "%s, %s", whole.name != NULL ? whole.name : "?",
		 inner.name != NULL ? inner.name : "?");
}
