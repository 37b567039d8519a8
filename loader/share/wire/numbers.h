/*
 * numbers.h - what the samples of several data sets read as one are called in one of them:
 * a sealed memfd with an entry for each. Private to loader/share/.
 */
#ifndef DSA_SHARE_NUMBERS_H
#define DSA_SHARE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct source;

/* In the data set; UINT32_MAX: the sample is not in it. */
struct number {
	uint32_t sample, label;
};

struct numbers {
	const struct number *of; /* each sample of them all; NULL: there are none */
	size_t count;
};

/* Makes the memfd for a part of a union. The descriptor, or -errno. */
int numbers_write(const struct source *all, unsigned part, struct error *err);

/* Maps it. -EPROTO: this is no such memfd. 0 or -errno; numbers_fini() after 0. */
int numbers_read(int fd, struct numbers *numbers, struct error *err);
void numbers_fini(struct numbers *numbers); /* of none is allowed */

struct number numbers_own(const struct numbers *numbers, uint32_t sample);

#endif
