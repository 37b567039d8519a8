/*
 * held_batches.c - free places for batches that the program holds, and copies into
 * them.
 */
#include "loader/share/client/held_batches.h"
#include "loader/share/client/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

int held_batches_init(struct held_batches *batches, uint32_t slots, uint32_t batch,
		      size_t sample_bytes)
{
	*batches = (struct held_batches){
		.batch = batch,
		.sample_bytes = sample_bytes,
		.slot = calloc(slots, sizeof(*batches->slot)),
	};
	if (batches->slot == NULL)
		return -ENOMEM;
	for (; batches->slots < slots; batches->slots++) {
		struct held_batch *held = &batches->slot[batches->slots];

		held->labels = calloc(batch, 2 * sizeof(uint32_t));
		if (held->labels == NULL)
			return -ENOMEM;
		held->samples = held->labels + batch;
	}
	return 0;
}

void held_batches_fini(struct held_batches *batches)
{
	for (uint32_t i = 0; i < batches->slots; i++) {
		free(batches->slot[i].labels);
		if (batches->room == NULL)
			free(batches->slot[i].copy);
	}
	free(batches->room);
	free(batches->slot);
}

static void *held_batches_alloc(size_t bytes)
{
	return aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
}

int held_batches_make_room(struct held_batches *batches, size_t slot_bytes)
{
	batches->room = held_batches_alloc(batches->slots * slot_bytes);
	if (batches->room == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < batches->slots; i++)
		batches->slot[i].copy = batches->room + i * slot_bytes;
	return 0;
}

struct held_batch *held_batches_free(struct held_batches *batches)
{
	struct held_batch *found = NULL;

	for (uint32_t i = 0; i < batches->slots; i++) {
		struct held_batch *held = &batches->slot[i];

		if (held->taken)
			continue;
		if (found == NULL || held->count > 0)
			found = held;
	}
	return found;
}

int held_batches_copy(struct held_batches *batches, struct held_batch *held,
		      struct connection *connection, const struct bcast_batch *batch)
{
	size_t size = batches->batch * batches->sample_bytes;
	unsigned char *to;

	if (batch->count == 0)
		return 0; /* nothing was taken */
	if (held->copy == NULL)
		held->copy = held_batches_alloc(size);
	if (held->copy == NULL)
		return -ENOMEM;
	to = held->copy + held->count * batches->sample_bytes;
	if (batch->data != NULL)
		memcpy(to, batch->data, batch->count * batches->sample_bytes);
	else
		bcast_copy(connection->reader, batch, to);
	held->count += batch->count;
	return bcast_release(connection->reader, batch);
}
