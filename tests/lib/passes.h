/*
 * passes.h - a plan for tests: passes of any lengths, which can be cut short under way.
 *
 * Global position g holds sample g * 37 % samples, wherever passes end: as long as samples
 * is no multiple of 37, that many positions in a row hold each sample once.
 */
#ifndef DSA_TESTS_PASSES_H
#define DSA_TESTS_PASSES_H

#include "loader/plan.h"

#include <stdatomic.h>

enum { PASSES_MOST = 400 };

struct passes {
	struct plan plan;
	uint32_t samples, count;
	uint64_t end[PASSES_MOST]; /* global position behind each */
	uint64_t asked;            /* highest pass asked for */
	atomic_uint out_of_range;  /* positions asked for that no pass has */
};

void passes_init(struct passes *passes, uint32_t samples, const uint32_t *lengths,
		 uint32_t count);

/* With readers: position p is for reader p % 3 and, if even, reader 5. */
void passes_give_readers(struct passes *passes);
uint64_t passes_readers(uint32_t position);

uint32_t passes_sample(const struct passes *passes, uint64_t position);

/* Ends a pass before this position of it. With the pipeline's lock held. */
void passes_cut(struct passes *passes, uint64_t pass, uint32_t position);

#endif
