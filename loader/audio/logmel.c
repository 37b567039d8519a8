/* logmel.c - spectra by kissfft, summed up in bands. */
#include "loader/audio/logmel.h"
#include "loader/audio.h"

#include <kissfft/kiss_fftr.h>
#include <math.h>
#include <stdlib.h>

static const float least_power = 1e-10f;

struct band {
	uint32_t first, count; /* bins */
	uint32_t at;           /* of its weights */
};

struct logmel {
	unsigned rate;
	uint32_t window, hop, length, bins;
	kiss_fftr_cfg fft;
	struct band bands[AUDIO_MELS];
	float *weights; /* 2 x bins: a bin is in two bands at the most */
	float *hann, *in, *power;
	kiss_fft_cpx *spectrum;
};

static double logmel_hertz(unsigned edge, unsigned rate)
{
	double most = 2595 * log10(1 + rate / 2. / 700);

	return 700 * (pow(10, most * edge / (AUDIO_MELS + 1) / 2595) - 1);
}

static double logmel_weight(double f, const double edges[3])
{
	double rise = (f - edges[0]) / (edges[1] - edges[0]);
	double fall = (edges[2] - f) / (edges[2] - edges[1]);

	return rise < fall ? rise : fall;
}

static void logmel_add_band(struct logmel *logmel, unsigned number, uint32_t *used)
{
	const double edges[] = {logmel_hertz(number, logmel->rate),
				logmel_hertz(number + 1, logmel->rate),
				logmel_hertz(number + 2, logmel->rate)};
	struct band *band = &logmel->bands[number];

	*band = (struct band){.at = *used};
	for (uint32_t bin = 0; bin < logmel->bins; bin++) {
		double f = (double)bin * logmel->rate / logmel->length;
		double weight = logmel_weight(f, edges);

		if (weight <= 0)
			continue;
		if (band->count++ == 0)
			band->first = bin;
		logmel->weights[(*used)++] = (float)weight;
	}
}

void logmel_free(struct logmel *logmel)
{
	if (logmel == NULL)
		return;
	kiss_fftr_free(logmel->fft);
	free(logmel->weights);
	free(logmel->hann);
	free(logmel->in);
	free(logmel->power);
	free(logmel->spectrum);
	free(logmel);
}

static int logmel_allocate(struct logmel *logmel)
{
	logmel->fft = kiss_fftr_alloc((int)logmel->length, 0, NULL, NULL);
	logmel->weights = calloc(2ul * logmel->bins, sizeof(float));
	logmel->hann = calloc(logmel->window, sizeof(float));
	logmel->in = calloc(logmel->length, sizeof(float));
	logmel->power = calloc(logmel->bins, sizeof(float));
	logmel->spectrum = calloc(logmel->bins, sizeof(*logmel->spectrum));
	return logmel->fft != NULL && logmel->weights != NULL && logmel->hann != NULL &&
			       logmel->in != NULL && logmel->power != NULL &&
			       logmel->spectrum != NULL
		       ? 0
		       : -1;
}

struct logmel *logmel_new(unsigned rate)
{
	struct logmel *logmel = calloc(1, sizeof(*logmel));
	uint32_t used = 0;

	if (logmel == NULL)
		return NULL;
	logmel->rate = rate;
	logmel->window = audio_window(rate);
	logmel->hop = audio_hop(rate);
	logmel->length =
		(uint32_t)kiss_fftr_next_fast_size_real((int)(2 * logmel->window));
	logmel->bins = logmel->length / 2 + 1;
	if (logmel_allocate(logmel) < 0) {
		logmel_free(logmel);
		return NULL;
	}
	for (uint32_t i = 0; i < logmel->window; i++)
		logmel->hann[i] = (float)(.5 - .5 * cos(2 * M_PI * i / logmel->window));
	for (unsigned i = 0; i < AUDIO_MELS; i++)
		logmel_add_band(logmel, i, &used);
	return logmel;
}

static void logmel_spectrum(struct logmel *logmel, const float *wave)
{
	for (uint32_t i = 0; i < logmel->window; i++)
		logmel->in[i] = wave[i] * logmel->hann[i];
	kiss_fftr(logmel->fft, logmel->in, logmel->spectrum);
	for (uint32_t i = 0; i < logmel->bins; i++) {
		const kiss_fft_cpx *bin = &logmel->spectrum[i];

		logmel->power[i] = bin->r * bin->r + bin->i * bin->i;
	}
}

void logmel_run(struct logmel *logmel, const float *wave, uint32_t count, float *out)
{
	uint32_t frames = audio_frames(count, logmel->rate);

	for (uint32_t frame = 0; frame < frames; frame++) {
		logmel_spectrum(logmel, wave + (size_t)frame * logmel->hop);
		for (unsigned mel = 0; mel < AUDIO_MELS; mel++) {
			const struct band *band = &logmel->bands[mel];
			float sum = 0;

			for (uint32_t i = 0; i < band->count; i++)
				sum += logmel->weights[band->at + i] *
				       logmel->power[band->first + i];
			out[(size_t)mel * frames + frame] =
				logf(fmaxf(sum, least_power));
		}
	}
}
