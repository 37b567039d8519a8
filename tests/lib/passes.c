#include "tests/lib/passes.h"

#include <stdbool.h>
#include <string.h>

static uint64_t first_of(const struct passes *passes, uint64_t pass)
{
	return pass == 0 ? 0 : passes->end[pass - 1];
}

static void pass_of(struct plan *plan, uint64_t pass, struct plan_pass *out)
{
	struct passes *passes = (struct passes *)plan;
	uint64_t number = pass < passes->count ? pass : passes->count;

	if (passes->asked < pass)
		passes->asked = pass;
	out->first = first_of(passes, number);
	out->epoch = 100 + pass;
	if (pass < passes->count)
		out->length = (uint32_t)(passes->end[pass] - out->first);
}

static bool in_range(struct passes *passes, uint64_t pass, uint32_t position)
{
	if (pass < passes->count &&
	    first_of(passes, pass) + position < passes->end[pass])
		return true;
	passes->out_of_range++;
	return false;
}

static uint32_t sample_of(struct plan *plan, uint64_t pass, uint32_t position)
{
	struct passes *passes = (struct passes *)plan;

	if (!in_range(passes, pass, position))
		return 0;
	return passes_sample(passes, first_of(passes, pass) + position);
}

static uint64_t readers_of(struct plan *plan, uint64_t pass, uint32_t position)
{
	in_range((struct passes *)plan, pass, position);
	return passes_readers(position);
}

static const struct plan_ops plain = {.pass = pass_of, .sample = sample_of};
static const struct plan_ops with_readers = {
	.pass = pass_of, .sample = sample_of, .readers = readers_of};

void passes_init(struct passes *passes, uint32_t samples, const uint32_t *lengths,
		 uint32_t count)
{
	*passes =
		(struct passes){.plan.ops = &plain, .samples = samples, .count = count};
	for (uint32_t i = 0; i < count; i++)
		passes->end[i] = first_of(passes, i) + lengths[i];
}

void passes_give_readers(struct passes *passes)
{
	passes->plan.ops = &with_readers;
}

uint64_t passes_readers(uint32_t position)
{
	return UINT64_C(1) << position % 3 | (position % 2 == 0 ? UINT64_C(32) : 0);
}

uint32_t passes_sample(const struct passes *passes, uint64_t position)
{
	return (uint32_t)(position * 37 % passes->samples);
}

void passes_cut(struct passes *passes, uint64_t pass, uint32_t position)
{
	memmove(&passes->end[pass + 1], &passes->end[pass],
		(passes->count++ - pass) * sizeof(passes->end[0]));
	passes->end[pass] = first_of(passes, pass) + position;
}
