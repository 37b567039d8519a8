/*
 * sides.h - two sides of a comparison, made up, and what a gate says of them. What is not
 * as it should be fails the test.
 */
#ifndef DSA_TESTS_SIDES_H
#define DSA_TESTS_SIDES_H

#include "loader/base/random.h"
#include "models/gate/gate.h"

struct sides {
	struct gate_side base, now;
	struct gate_config config;
	struct gate_verdict verdict;
	struct random dice;
};

/* Of one machine and data set, with the same counts and no repetitions. */
void sides_begin(struct sides *pair);
void sides_end(struct sides *pair);

/* Of a test between sides_begin() and sides_end() of these. */
extern struct sides sides;
int sides_setup(void **state);
int sides_teardown(void **state);

/* The same again, with the dice as they fell. */
void sides_again(struct sides *pair);

void sides_add_fact(struct gate_side *side, const char *key, const char *value);

/*
 * Repetitions that are `slower`: so many points more of each stall, such a share less of
 * the rate and more of CPU time; each give or take normal noise.
 */
void sides_add_session(struct sides *pair, struct gate_side *side, size_t count,
		       double slower, double noise);

/* 8 of each, only the new ones slower. */
void sides_add_both(struct sides *pair, double slower, double noise);

double sides_normal(struct sides *pair);

void sides_limit(struct sides *pair, const char *name, double limit);
void sides_all_off(struct sides *pair);
void sides_timed_off(struct sides *pair);

void sides_judge(struct sides *pair);
const struct gate_finding *sides_find(const struct sides *pair, const char *name);
struct gate_finding sides_found(const struct sides *pair, const char *name);
void sides_outcome_is(const struct sides *pair, enum gate_outcome want);
void sides_status_is(const struct sides *pair, const char *name, enum gate_status want);

/* That a text has this part. */
void says(const char *text, const char *part);

#endif
