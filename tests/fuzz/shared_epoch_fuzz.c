/*
 * shared_epoch_fuzz.c - the state of a shared loader that died, from anybody: it is refused,
 * or it is an order that every job can go on with.
 */
#include "loader/share/schedule/shared_epoch.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COUNT = 12 };

/* A lap holds no sample twice. */
static uint32_t check_lap(struct shared_epoch *shared, uint64_t lap)
{
	bool seen[COUNT] = {false};
	struct plan_lap at;

	plan_lap(shared_epoch_plan(shared), lap, &at);
	if (at.length > COUNT)
		abort();
	for (uint32_t i = 0; i < at.length; i++) {
		uint32_t sample = plan_sample(shared_epoch_plan(shared), lap, i);

		if (sample >= COUNT || seen[sample])
			abort();
		seen[sample] = true;
	}
	return at.length;
}

/* An owner's epoch: from its cut on, each sample once. */
static void check_epoch(struct shared_epoch *shared, uint64_t lap)
{
	uint32_t rest[COUNT];
	bool seen[COUNT] = {false};

	if (shared_epoch_rest(shared, lap, 0, 0, COUNT, rest) != COUNT)
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

static void go_on(struct shared_epoch *shared, uint64_t lap)
{
	int cut = shared_epoch_enter(shared, lap, check_lap(shared, lap) / 2);

	for (uint64_t i = lap; i < lap + 100; i++)
		check_lap(shared, i);
	if (cut < 0)
		return;
	check_epoch(shared, shared_epoch_began(shared, (unsigned)cut));
	shared_epoch_put(shared, (unsigned)cut);
	for (uint64_t i = lap + 100; i < lap + 200; i++)
		check_lap(shared, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct shared_epoch_config config = {
		.count = COUNT, .seed = 5, .end_epoch = UINT64_MAX};
	struct shared_epoch *shared = shared_epoch_load(&config, data, size, NULL),
			    *again = NULL;
	void *state = malloc(shared_epoch_state_bytes(&config));

	if (shared == NULL || state == NULL)
		goto out;
	go_on(shared, laid(data) > 0 ? laid(data) - 1 : 0);
	again = shared_epoch_load(&config, state,
				  shared_epoch_save(shared, laid(data), state), NULL);
	if (again == NULL)
		abort();
out:
	free(state);
	shared_epoch_close(shared);
	shared_epoch_close(again);
	return 0;
}
