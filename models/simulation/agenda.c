/* agenda.c - a binary heap. */
#include "models/simulation/agenda.h"

#include <errno.h>
#include <stdlib.h>

int agenda_init(struct agenda *agenda, uint32_t most)
{
	agenda->count = 0;
	agenda->entries = calloc(most, sizeof(*agenda->entries));
	return agenda->entries != NULL ? 0 : -ENOMEM;
}

void agenda_fini(struct agenda *agenda)
{
	free(agenda->entries);
}

void agenda_put(struct agenda *agenda, double at, uint32_t who)
{
	struct agenda_entry *heap = agenda->entries;
	uint32_t i = agenda->count++;

	for (; i > 0 && heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = (struct agenda_entry){at, who};
}

uint32_t agenda_take(struct agenda *agenda)
{
	struct agenda_entry *heap = agenda->entries;
	uint32_t who = heap[0].who, count = --agenda->count, i = 0;
	struct agenda_entry last = heap[count];

	for (uint32_t child = 1; child < count; child = 2 * i + 1) {
		child += child + 1 < count && heap[child + 1].at < heap[child].at;
		if (last.at <= heap[child].at)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return who;
}
