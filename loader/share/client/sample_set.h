/*
 * sample_set.h - the samples of its epoch that a program has had: a bit for each sample
 * of the data set. Private to loader/share/.
 */
#ifndef DSA_SHARE_SAMPLE_SET_H
#define DSA_SHARE_SAMPLE_SET_H

#include <stdbool.h>
#include <stdint.h>

struct sample_set {
	uint64_t *bits;
	uint32_t samples; /* in the data set */
};

/* Empty. 0 or -ENOMEM. */
int sample_set_init(struct sample_set *set, uint32_t samples);
void sample_set_fini(struct sample_set *set);

/* Numbers beyond the data set are ignored, and are in no set. */
void sample_set_add(struct sample_set *set, const uint32_t *samples, uint32_t count);
void sample_set_remove(struct sample_set *set, const uint32_t *samples, uint32_t count);
void sample_set_clear(struct sample_set *set);
bool sample_set_has(const struct sample_set *set, uint32_t sample);

/* How many samples are not in the set. */
uint32_t sample_set_missing(const struct sample_set *set);

#endif
