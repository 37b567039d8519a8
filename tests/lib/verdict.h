/* verdict.h - verdicts of a gate to be written: one as people get them, and hostile ones. */
#ifndef DSA_TESTS_VERDICT_H
#define DSA_TESTS_VERDICT_H

#include "reports/gate/gate_form.h"

/* A regression of fetch_stall with its cause, and one metric of each other status. Both
 * end with gate_verdict_free(). */
void verdict_make(struct gate_verdict *verdict);

/* `count` metrics, one in three worse, with names and texts that try everything. */
void verdict_make_hostile(struct gate_verdict *verdict, size_t count);

void verdict_add_cause(struct gate_verdict *verdict, const char *text);

/* A text that tries to be markup, a command, a link or a mention in every form. */
extern const char verdict_hostile[];

#endif
