/* near.h - how far a word is from another: for "did you mean". */
#ifndef DSA_NEAR_H
#define DSA_NEAR_H

enum { NEAR_FAR = 3 };

/* Slips of the keys that make one of the other: a letter too many, too few or wrong, or two
 * exchanged. NEAR_FAR: more than 2, or of words of up to three letters more than 1. */
unsigned near_slips(const char *typed, const char *meant);

#endif
