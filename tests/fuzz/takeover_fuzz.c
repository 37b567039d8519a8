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
	uint64_t shared_epoch_bytes = bytes - sizeof(struct takeover_head), checksum;

	memcpy((char *)state + offsetof(struct takeover_head, shared_epoch_bytes),
	       &shared_epoch_bytes, sizeof(shared_epoch_bytes));
	checksum = XXH3_64bits((char *)state + before, bytes - before);
	memcpy((char *)state + offsetof(struct takeover_head, checksum), &checksum,
	       sizeof(checksum));
}

static void check(const struct takeover *takeover)
{
	const struct takeover_head *head = &takeover->head;
	struct plan_lap lap;

	for (int i = 0; i < BCAST_READERS; i++)
		if (head->cuts[i] < -1 || head->cuts[i] >= SHARED_EPOCH_ENTRIES)
			abort();
	plan_lap(shared_epoch_plan(takeover->shared), takeover->point.lap, &lap);
	if (takeover->point.position > lap.length ||
	    takeover->point.stolen > lap.length)
		abort();
	for (uint32_t i = takeover->point.position; i < lap.length; i++)
		if (plan_sample(shared_epoch_plan(takeover->shared),
				takeover->point.lap, i) >= head->samples)
			abort();
}

/* The last place that was published, then the state. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bcast_orphan orphan = {0};
	struct takeover takeover = {0};
	struct error err = {0};

	if (size < sizeof(orphan.last))
		return 0;
	memcpy(&orphan.last, data, sizeof(orphan.last));
	orphan.state_bytes = size - sizeof(orphan.last);
	orphan.state = malloc(orphan.state_bytes + 1);
	if (orphan.state == NULL)
		return 0;
	memcpy(orphan.state, data + sizeof(orphan.last), orphan.state_bytes);
	if (orphan.state_bytes >= sizeof(struct takeover_head))
		make_whole(orphan.state, orphan.state_bytes);
	if (takeover_read(&orphan, &takeover, &err) == 0) {
		check(&takeover);
		takeover_fini(&takeover);
	}
	free(orphan.state);
	return 0;
}
