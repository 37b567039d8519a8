/*
 * polyphase.h - another sample rate: `up` / `down` times as many, by a windowed sinc.
 *
 * The filter is that of scipy.signal.resample_poly: 20 max(up, down) + 1 taps at the rate
 * of `up` times the input, cut off at the lower of both Nyquist frequencies, under a Kaiser
 * window of 5. Of output k only each up-th tap meets an input that is not zero:
 *
 *	out[k] = sum over i < taps of filter[k down + half mod up][i] in[newest - taps + 1 + i]
 *	newest = (k down + half) / up
 */
#ifndef DSA_AUDIO_POLYPHASE_H
#define DSA_AUDIO_POLYPHASE_H

#include <stdint.h>

struct polyphase {
	unsigned from, to; /* Hz; 0, 0: not made yet */
	uint32_t up, down;
	uint32_t half; /* taps before the middle one */
	uint32_t taps; /* of each phase */
	float *filter; /* up x taps */
};

/* 0 or -ENOMEM. */
int polyphase_init(struct polyphase *polyphase, unsigned from, unsigned to);
void polyphase_fini(struct polyphase *polyphase);

/* Samples that so many frames become. */
uint64_t polyphase_count(const struct polyphase *polyphase, uint64_t frames);

/* The last input that an output is made of; the first is taps - 1 before. */
int64_t polyphase_newest(const struct polyphase *polyphase, uint64_t output);

/* in: the taps inputs that it is made of. */
float polyphase_make(const struct polyphase *polyphase, uint64_t output,
		     const float *in);

#endif
