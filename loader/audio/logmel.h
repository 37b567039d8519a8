/*
 * logmel.h - how strong which pitches are: the logarithm of the power in bands that are
 * equally wide on the mel scale (HTK's: 2595 log10(1 + f / 700)).
 *
 * Spectra are of a periodic Hann window, zeros behind it up to at least twice its length.
 * Bands are triangles from 0 to half the rate, 1 in their middle, where their neighbours
 * are 0; what is below 1e-10 counts as that.
 */
#ifndef DSA_AUDIO_LOGMEL_H
#define DSA_AUDIO_LOGMEL_H

#include <stdint.h>

struct logmel;

/* NULL: out of memory. */
struct logmel *logmel_new(unsigned rate);
void logmel_free(struct logmel *logmel);

/* Of a waveform of `count`, at least a window, into AUDIO_MELS x audio_frames(). */
void logmel_run(struct logmel *logmel, const float *wave, uint32_t count, float *out);

#endif
