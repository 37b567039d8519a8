/* audio_fuzz.c - a recording may hold anything: a crop of it is made, or it is refused in
 * one line, with little memory. The first byte: bit 0 of it asks for log-mel, bit 1 for a look
 * at all of it. */
#include "loader/audio.h"
#include "loader/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct audio_library dsa_audio;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libsndfile 1.2 forgets some kilobytes of a file that it refuses: not ours to find. */
const char *__lsan_default_suppressions(void); /* NOLINT: the sanitizer's name */

const char *__lsan_default_suppressions(void) /* NOLINT */
{
	return "leak:libsndfile.so\nleak:libvorbis\nleak:libogg\nleak:libFLAC\n"
	       "leak:libopus\nleak:libmpg123\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { COUNT = 2000, RATE = 16000 };
	static float out[AUDIO_MELS * COUNT] = {0};
	struct audio_config config = {.count = COUNT, .rate = RATE};
	struct audio_info info = {0};
	struct audio_call call;
	struct error err = {0};
	char format[AUDIO_FORMAT];
	void *state;

	if (size == 0)
		return 0;
	config.logmel = (data[0] & 1) != 0;
	call = (struct audio_call){data + 1, size - 1, data[0], out};
	state = dsa_audio.open(&config);
	if (state == NULL)
		return 0;
	if (dsa_audio.run(state, &call, &err) < 0 &&
	    (err.message[0] == '\0' || strchr(err.message, '\n') != NULL))
		abort();
	dsa_audio.close(state);
	err = (struct error){0};
	if (dsa_audio.look(&call, (data[0] & 2) != 0, &info, &err) < 0 &&
	    (err.message[0] == '\0' || strchr(err.message, '\n') != NULL))
		abort();
	dsa_audio.format(info.format, format);
	return 0;
}
