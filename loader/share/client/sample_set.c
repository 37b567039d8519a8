/* sample_set.c - a bit for each sample of a data set. */
#include "loader/share/client/sample_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t sample_set_words(const struct sample_set *set)
{
	return set->samples / 64 + 1;
}

int sample_set_init(struct sample_set *set, uint32_t samples)
{
	set->samples = samples;
	set->bits = calloc(sample_set_words(set), sizeof(*set->bits));
	return set->bits != NULL ? 0 : -ENOMEM;
}

void sample_set_fini(struct sample_set *set)
{
	free(set->bits);
	set->bits = NULL;
}

void sample_set_add(struct sample_set *set, const uint32_t *samples, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (samples[i] < set->samples)
			set->bits[samples[i] / 64] |= UINT64_C(1) << samples[i] % 64;
}

void sample_set_remove(struct sample_set *set, const uint32_t *samples, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (samples[i] < set->samples)
			set->bits[samples[i] / 64] &= ~(UINT64_C(1) << samples[i] % 64);
}

void sample_set_clear(struct sample_set *set)
{
	memset(set->bits, 0, sample_set_words(set) * sizeof(*set->bits));
}

bool sample_set_has(const struct sample_set *set, uint32_t sample)
{
	return sample < set->samples &&
	       (set->bits[sample / 64] >> sample % 64 & 1) != 0;
}

uint32_t sample_set_missing(const struct sample_set *set)
{
	uint32_t count = 0;

	for (uint32_t sample = 0; sample < set->samples; sample++)
		count += !sample_set_has(set, sample);
	return count;
}
