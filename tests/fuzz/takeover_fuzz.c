/*
 * takeover_fuzz.c - what a shared loader left, from anybody: it is refused, or it says
 * where in which order to go on.
 */
#include "loader/base/error.h"
#include "loader/share/wire/takeover.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whoever forges a state can make it whole. */
static void make_whole(void *state, size_t bytes)
{
	size_t before = offsetof(struct takeover_head, generation);
	uint64_t course_bytes = bytes - sizeof(struct takeover_head), checksum;

	memcpy((char *)state + offsetof(struct takeover_head, course_bytes),
	       &course_bytes, sizeof(course_bytes));
	checksum = XXH3_64bits((char *)state + before, bytes - before);
	memcpy((char *)state + offsetof(struct takeover_head, checksum), &checksum,
	       sizeof(checksum));
}

static void check(const struct takeover *takeover)
{
	const struct takeover_head *head = &takeover->head;
	struct plan_lap lap;

	for (int i = 0; i < FEED_SEATS; i++)
		if (head->cuts[i] < -1 || head->cuts[i] >= COURSE_CUTS)
			abort();
	plan_lap(course_plan(takeover->course), takeover->point.lap, &lap);
	if (takeover->point.position > lap.length ||
	    takeover->point.stolen > lap.length)
		abort();
	for (uint32_t i = takeover->point.position; i < lap.length; i++)
		if (plan_sample(course_plan(takeover->course), takeover->point.lap,
				i) >= head->samples)
			abort();
}

/* The last place that was published, then the state. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed_wreck wreck = {0};
	struct takeover takeover = {0};
	struct error err = {0};

	if (size < sizeof(wreck.last))
		return 0;
	memcpy(&wreck.last, data, sizeof(wreck.last));
	wreck.state_bytes = size - sizeof(wreck.last);
	wreck.state = malloc(wreck.state_bytes + 1);
	if (wreck.state == NULL)
		return 0;
	memcpy(wreck.state, data + sizeof(wreck.last), wreck.state_bytes);
	if (wreck.state_bytes >= sizeof(struct takeover_head))
		make_whole(wreck.state, wreck.state_bytes);
	if (takeover_read(&wreck, &takeover, &err) == 0) {
		check(&takeover);
		takeover_fini(&takeover);
	}
	free(wreck.state);
	return 0;
}
