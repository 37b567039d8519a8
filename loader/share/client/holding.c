#include "loader/share/client/holding.h"
#include "loader/share/client/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

int holdings_init(struct holdings *holdings, uint32_t slots, uint32_t batch,
		  size_t sample_bytes)
{
	*holdings = (struct holdings){
		.batch = batch,
		.sample_bytes = sample_bytes,
		.slot = calloc(slots, sizeof(*holdings->slot)),
	};
	if (holdings->slot == NULL)
		return -ENOMEM;
	for (; holdings->slots < slots; holdings->slots++) {
		struct holding *holding = &holdings->slot[holdings->slots];

		holding->labels = calloc(batch, 2 * sizeof(uint32_t));
		if (holding->labels == NULL)
			return -ENOMEM;
		holding->samples = holding->labels + batch;
	}
	return 0;
}

void holdings_fini(struct holdings *holdings)
{
	for (uint32_t i = 0; i < holdings->slots; i++) {
		free(holdings->slot[i].labels);
		free(holdings->slot[i].copy);
	}
	free(holdings->slot);
}

struct holding *holdings_free(struct holdings *holdings)
{
	struct holding *found = NULL;

	for (uint32_t i = 0; i < holdings->slots; i++) {
		struct holding *holding = &holdings->slot[i];

		if (holding->taken)
			continue;
		if (found == NULL || holding->count > 0)
			found = holding;
	}
	return found;
}

int holdings_copy(struct holdings *holdings, struct holding *holding, struct link *link,
		  const struct feed_batch *batch)
{
	size_t size = holdings->batch * holdings->sample_bytes;
	unsigned char *to;

	if (batch->count == 0)
		return 0; /* nothing was taken */
	if (holding->copy == NULL)
		holding->copy = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
	if (holding->copy == NULL)
		return -ENOMEM;
	to = holding->copy + holding->count * holdings->sample_bytes;
	if (batch->data != NULL)
		memcpy(to, batch->data, batch->count * holdings->sample_bytes);
	else
		feed_copy(link->reader, batch, to);
	holding->count += batch->count;
	return feed_release(link->reader, batch);
}
