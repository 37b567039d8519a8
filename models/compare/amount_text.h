/* amount_text.h - two amounts in words: "fell from 128 KiB to 4 KiB". */
#ifndef DSA_AMOUNT_TEXT_H
#define DSA_AMOUNT_TEXT_H

enum amount_unit {
	AMOUNT_COUNT,
	AMOUNT_BYTES, /* KiB and up where both are whole ones, else KB and up */
	AMOUNT_BYTES_PER_S,
	AMOUNT_SECONDS,
	AMOUNT_SHARE, /* 0.35 as "35%" */
	AMOUNT_SAMPLES_PER_S
};

enum { AMOUNT_SIZE = 40 };

struct amount_text_pair {
	char from[AMOUNT_SIZE], to[AMOUNT_SIZE];
};

/*
 * Both as they are read: three digits, or as many as tell them apart. "none" for 0 and
 * "unlimited" for what is infinite, unless the other one is that, too.
 */
void amount_text_pair(struct amount_text_pair *pair, enum amount_unit unit, double from,
		      double to);

#endif
