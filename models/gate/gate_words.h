/*
 * gate_words.h - the one-line whys of findings and of a verdict, in English.
 */
#ifndef DSA_GATE_WORDS_H
#define DSA_GATE_WORDS_H

#include "models/gate/gate.h"

#define GATE_PRINTF(at) __attribute__((format(printf, at, (at) + 1)))

void gate_words_say(struct gate_finding *finding, const char *format, ...)
	GATE_PRINTF(2);

/* Its numbers and its status are known. */
void gate_words_exact(struct gate_finding *finding);
void gate_words_timed(struct gate_finding *finding);

/* The outcome, findings, causes and mismatches are known. */
void gate_words_verdict(struct gate_verdict *verdict);

#endif
