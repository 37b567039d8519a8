/*
 * gate_looks.h - when a gate that measures until it knows looks at what it has.
 *
 *	look            1   2   3   4   5
 *	repetitions     7  10  14  20  32     of each side, or of the new one
 *
 * It ends at the first look that leaves nothing open. Tests and bounds of all looks have
 * one level, such that any of them is wrong with a chance of alpha (Pocock 1977,
 * Biometrika 64): a third of .05, and less of a smaller alpha. That is a fit from below
 * to what follows for sums of normal numbers (Armitage, McPherson and Rowe 1969, J. R.
 * Stat. Soc. A 132), and never less than an even split, which holds for anything. Where
 * nothing differs ranks behave alike for any distribution: of pairs the error is .049
 * at .05. Looks at one baseline are more alike, and err less.
 *
 * One level for all, because most gates find nothing, and shall do so soon: one that
 * begins small (O'Brien and Fleming 1979) is below 2^-7, the smallest p of 7 pairs. With
 * this one these can decide, for two metrics, too. The launches of tests/data/gate that
 * did not change pass after 41 s on average, and those that were slowed are found after
 * 41 s; with an even split after 44 and 52 s; and 8 pairs judged once, which take 40 s,
 * leave 1 in 10 and 1 in 25 open.
 */
#ifndef DSA_GATE_LOOKS_H
#define DSA_GATE_LOOKS_H

#include "models/gate/gate.h"

enum { GATE_LOOKS = 5, GATE_LOOKS_MOST = 32 };

/* Repetitions at the first look after so many; 0: there is none. */
size_t gate_looks_next(size_t repetitions);

/* The level of a test at one look, where all of them are to have alpha; and the p of all
 * that one at a look is worth, its inverse. The same where it is judged once. */
double gate_looks_level(const struct gate_config *config, double alpha);
double gate_looks_p(const struct gate_config *config, double p);

#endif
