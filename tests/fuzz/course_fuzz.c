/*
 * course_fuzz.c - the state of a shared loader that died, from anybody: it is refused,
 * or it is an order that every job can go on with.
 */
#include "loader/share/wire/course.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COUNT = 12 };

/* A lap holds no sample twice. */
static uint32_t check_lap(struct course *course, uint64_t lap)
{
	bool seen[COUNT] = {false};
	struct plan_lap at;

	plan_lap(course_plan(course), lap, &at);
	if (at.length > COUNT)
		abort();
	for (uint32_t i = 0; i < at.length; i++) {
		uint32_t sample = plan_sample(course_plan(course), lap, i);

		if (sample >= COUNT || seen[sample])
			abort();
		seen[sample] = true;
	}
	return at.length;
}

/* An owner's epoch: from its cut on, each sample once. */
static void check_epoch(struct course *course, uint64_t lap)
{
	uint32_t rest[COUNT];
	bool seen[COUNT] = {false};

	if (course_rest(course, lap, 0, 0, COUNT, rest) != COUNT)
		abort();
	for (uint32_t i = 0; i < COUNT; i++) {
		if (seen[rest[i]])
			abort();
		seen[rest[i]] = true;
	}
}

/* Laps laid out so far, by the head of a state that was taken. */
static uint64_t laid(const uint8_t *data)
{
	uint64_t laps;

	memcpy(&laps, data + 16, sizeof(laps));
	return laps;
}

static void go_on(struct course *course, uint64_t lap)
{
	int cut = course_cut(course, lap, check_lap(course, lap) / 2);

	for (uint64_t i = lap; i < lap + 100; i++)
		check_lap(course, i);
	if (cut < 0)
		return;
	check_epoch(course, course_began(course, (unsigned)cut));
	course_put(course, (unsigned)cut);
	for (uint64_t i = lap + 100; i < lap + 200; i++)
		check_lap(course, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct course_config config = {
		.count = COUNT, .seed = 5, .end_epoch = UINT64_MAX};
	struct course *course = course_load(&config, data, size, NULL), *again = NULL;
	void *state = malloc(course_state_bytes(&config));

	if (course == NULL || state == NULL)
		goto out;
	go_on(course, laid(data) > 0 ? laid(data) - 1 : 0);
	again = course_load(&config, state, course_save(course, laid(data), state),
			    NULL);
	if (again == NULL)
		abort();
out:
	free(state);
	course_close(course);
	course_close(again);
	return 0;
}
