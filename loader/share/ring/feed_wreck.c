/* feed_wreck.c - what a dead writer left in its memory; nobody vouches for it. */
#include "loader/base/error.h"
#include "loader/share/ring/feed_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int look_at_last(const struct feed_header *header,
			const struct feed_layout *layout, struct feed_wreck *wreck,
			struct error *err)
{
	const struct feed_place *places =
		(const struct feed_place *)((const char *)header + layout->descriptors);

	wreck->published = atomic_load(&header->published);
	if (wreck->published == 0)
		return 0;
	memcpy(&wreck->last, &places[(wreck->published - 1) % layout->places],
	       sizeof(wreck->last));
	if (wreck->last.sequence == wreck->published)
		return 0;
	if (wreck->last.sequence == 0) /* it took over, and published nothing */
		return 0;
	return error_set(err, EBADMSG,
			 "the feed ends at number %llu of its stream, its last place "
			 "holds %llu",
			 (unsigned long long)wreck->published,
			 (unsigned long long)wreck->last.sequence);
}

/* A copy: whoever handed in the memory might still write to it. */
static int copy_state(const struct feed_header *header,
		      const struct feed_layout *layout, struct feed_wreck *wreck,
		      struct error *err)
{
	uint32_t which = atomic_load(&header->state);
	uint64_t used;

	if (which == 0)
		return 0;
	if (which > 2)
		return error_set(err, EBADMSG, "the feed has no state number %u",
				 which);
	used = header->state_used[which - 1];
	if (used > layout->state_bytes)
		return error_set(err, EBADMSG,
				 "the feed's state of %llu bytes is longer than its "
				 "room of %llu",
				 (unsigned long long)used,
				 (unsigned long long)layout->state_bytes);
	if (used == 0)
		return 0;
	wreck->state = malloc(used);
	if (wreck->state == NULL)
		return error_sys(err, ENOMEM, "cannot read the feed's state");
	memcpy(wreck->state,
	       (const char *)header + layout->states +
		       (which - 1) * feed_state_step(layout),
	       used);
	wreck->state_bytes = used;
	return 0;
}

static int copy_places(const struct feed_header *header,
		       const struct feed_layout *layout, struct feed_wreck *wreck,
		       struct error *err)
{
	size_t bytes = layout->places * sizeof(*wreck->places);

	wreck->places = malloc(bytes);
	if (wreck->places == NULL)
		return error_sys(err, ENOMEM, "cannot read the feed's places");
	memcpy(wreck->places, (const char *)header + layout->descriptors, bytes);
	wreck->count = layout->places;
	return 0;
}

int feed_wreck_open(int fd, struct feed_wreck *wreck, struct error *err)
{
	const struct feed_header *header;
	struct feed_layout layout;
	int result;

	*wreck = (struct feed_wreck){0};
	result = feed_look(fd, &layout, &header, err);
	if (result < 0)
		return result;
	result = look_at_last(header, &layout, wreck, err);
	if (result == 0)
		result = copy_state(header, &layout, wreck, err);
	if (result == 0)
		result = copy_places(header, &layout, wreck, err);
	feed_unlook(header, &layout);
	if (result < 0)
		feed_wreck_close(wreck);
	return result;
}

void feed_wreck_close(struct feed_wreck *wreck)
{
	free(wreck->state);
	free(wreck->places);
	*wreck = (struct feed_wreck){0};
}

const struct feed_place *feed_wreck_place(const struct feed_wreck *wreck,
					  uint64_t sequence)
{
	const struct feed_place *place = &wreck->places[sequence % wreck->count];

	return sequence < wreck->published && place->sequence == sequence + 1 ? place
									      : NULL;
}
