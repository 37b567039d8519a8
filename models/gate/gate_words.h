/*
 * gate_words.h - the one-line reasons of findings and of a verdict.
 */
#ifndef DSA_GATE_WORDS_H
#define DSA_GATE_WORDS_H

#include "models/gate/gate.h"

/* Sets the reason of a finding to a printf. */
void gate_words_write(struct gate_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The reason of a finding whose numbers and status are known. */
void gate_words_exact(struct gate_finding *finding);
/* The same of hits that could not be seen, in a gate of this data set. */
void gate_words_unseen(struct gate_finding *finding, const struct profile *about);
void gate_words_timed(struct gate_finding *finding);

/* The reason of a verdict whose outcome, findings, causes and mismatches are known. */
void gate_words_verdict(struct gate_verdict *verdict);

#endif
