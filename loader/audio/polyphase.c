/* polyphase.c - makes the filter, phase by phase, and applies it. */
#include "loader/audio/polyphase.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BETA 5. /* of the Kaiser window */

enum { ZEROS = 10, LANES = 8 };

static uint32_t polyphase_divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Modified Bessel function of the first kind, order 0: its series. */
static double polyphase_bessel(double x)
{
	double term = 1, sum = 1;

	for (int i = 1; term > sum * 1e-17; i++) {
		term *= x / (2 * i) * (x / (2 * i));
		sum += term;
	}
	return sum;
}

/* Of the tap `at` of 2 half + 1; cut: of the Nyquist frequency. */
static double polyphase_tap(uint32_t at, uint32_t half, double cut)
{
	double x = ((double)at - half) * cut * M_PI;
	double place = half > 0 ? ((double)at - half) / half : 0;

	return (x == 0 ? 1 : sin(x) / x) *
	       polyphase_bessel(BETA * sqrt(1 - place * place));
}

static void polyphase_fill(struct polyphase *p, double *taps)
{
	uint32_t count = 2 * p->half + 1;
	double cut = (double)ZEROS / p->half, sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += taps[i] = polyphase_tap(i, p->half, cut);
	for (uint32_t phase = 0; phase < p->up; phase++)
		for (uint32_t i = 0, at = phase; at < count; i++, at += p->up)
			p->filter[(size_t)phase * p->taps + p->taps - 1 - i] =
				(float)(taps[at] / sum * p->up);
}

int polyphase_init(struct polyphase *p, unsigned from, unsigned to)
{
	uint32_t divisor = polyphase_divisor(from, to);
	double *taps;

	polyphase_fini(p);
	p->up = to / divisor;
	p->down = from / divisor;
	p->half = ZEROS * (p->up > p->down ? p->up : p->down);
	/* a divisor of `to` is no larger: NOLINTNEXTLINE(*DivideZero) */
	p->taps = 2 * p->half / p->up + 1;
	p->filter = calloc((size_t)p->up * p->taps, sizeof(*p->filter));
	taps = malloc((2ul * p->half + 1) * sizeof(*taps));
	if (p->filter == NULL || taps == NULL) {
		free(taps);
		polyphase_fini(p);
		return -ENOMEM;
	}
	polyphase_fill(p, taps);
	free(taps);
	p->from = from;
	p->to = to;
	return 0;
}

void polyphase_fini(struct polyphase *p)
{
	free(p->filter);
	*p = (struct polyphase){0};
}

uint64_t polyphase_count(const struct polyphase *p, uint64_t frames)
{
	return (frames * p->up + p->down - 1) / p->down;
}

int64_t polyphase_newest(const struct polyphase *p, uint64_t output)
{
	return (int64_t)((output * p->down + p->half) / p->up);
}

float polyphase_make(const struct polyphase *p, uint64_t output, const float *in)
{
	const float *filter =
		p->filter + (output * p->down + p->half) % p->up * p->taps;
	float lanes[LANES] = {0}, sum = 0;
	uint32_t i = 0;

	for (; i + LANES <= p->taps; i += LANES)
		for (uint32_t lane = 0; lane < LANES; lane++)
			lanes[lane] += filter[i + lane] * in[i + lane];
	for (; i < p->taps; i++)
		sum += filter[i] * in[i];
	for (uint32_t lane = 0; lane < LANES; lane++)
		sum += lanes[lane];
	return sum;
}
