/* recording.h - the frames of a file in memory, as the mean of its channels. */
#ifndef DSA_AUDIO_RECORDING_H
#define DSA_AUDIO_RECORDING_H

#include "loader/audio.h"

struct error;
struct recording;

enum {
	RECORDING_RATE = 384000, /* Hz at the most */
	RECORDING_CHANNELS = 64,
};

/* At the most; a number beyond it is no length. */
#define RECORDING_FRAMES (INT64_C(1) << 40)

/* NULL: out of memory. */
struct recording *recording_new(void);
void recording_free(struct recording *recording);

/* Looks at a file, which stays where it is until recording_end(). 0, -EBADMSG, -EFBIG. */
int recording_begin(struct recording *recording, const void *bytes, size_t size,
		    struct audio_info *info, struct error *err);
void recording_end(struct recording *recording);

/* The next frames are read from there on. 0 or -EBADMSG. */
int recording_seek(struct recording *recording, uint64_t frame, struct error *err);

/* All of them, or -EBADMSG. */
int recording_read(struct recording *recording, float *mono, size_t frames,
		   struct error *err);

/* look() and format() of struct audio_library. */
int recording_look(const struct audio_call *call, bool full, struct audio_info *info,
		   struct error *err);
void recording_format(unsigned format, char text[AUDIO_FORMAT]);

#endif
