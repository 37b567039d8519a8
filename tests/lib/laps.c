#include "tests/lib/laps.h"

#include <string.h>

static uint64_t first_of(const struct laps *laps, uint64_t lap)
{
	return lap == 0 ? 0 : laps->end[lap - 1];
}

static void lap_of(struct plan *plan, uint64_t lap, struct plan_lap *out)
{
	struct laps *laps = (struct laps *)plan;
	uint64_t number = lap < laps->count ? lap : laps->count;

	if (laps->asked < lap)
		laps->asked = lap;
	out->first = first_of(laps, number);
	out->epoch = 100 + lap;
	if (lap < laps->count)
		out->length = (uint32_t)(laps->end[lap] - out->first);
}

static bool in_range(struct laps *laps, uint64_t lap, uint32_t position)
{
	if (lap < laps->count && first_of(laps, lap) + position < laps->end[lap])
		return true;
	laps->out_of_range++;
	return false;
}

static uint32_t sample_of(struct plan *plan, uint64_t lap, uint32_t position)
{
	struct laps *laps = (struct laps *)plan;

	if (!in_range(laps, lap, position))
		return 0;
	return laps_sample(laps, first_of(laps, lap) + position);
}

static uint64_t seats_of(struct plan *plan, uint64_t lap, uint32_t position)
{
	in_range((struct laps *)plan, lap, position);
	return laps_seats(position);
}

static const struct plan_ops plain = {.lap = lap_of, .sample = sample_of};
static const struct plan_ops seated = {
	.lap = lap_of, .sample = sample_of, .seats = seats_of};

void laps_init(struct laps *laps, uint32_t samples, const uint32_t *lengths,
	       uint32_t count)
{
	*laps = (struct laps){.plan.ops = &plain, .samples = samples, .count = count};
	for (uint32_t i = 0; i < count; i++)
		laps->end[i] = first_of(laps, i) + lengths[i];
}

void laps_seat(struct laps *laps)
{
	laps->plan.ops = &seated;
}

uint64_t laps_seats(uint32_t position)
{
	return UINT64_C(1) << position % 3 | (position % 2 == 0 ? UINT64_C(32) : 0);
}

uint32_t laps_sample(const struct laps *laps, uint64_t position)
{
	return (uint32_t)(position * 37 % laps->samples);
}

void laps_cut(struct laps *laps, uint64_t lap, uint32_t position)
{
	memmove(&laps->end[lap + 1], &laps->end[lap],
		(laps->count++ - lap) * sizeof(laps->end[0]));
	laps->end[lap] = first_of(laps, lap) + position;
}
