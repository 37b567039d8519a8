/* bcast_orphan.c - what a dead writer left in its memory; nobody vouches for it. */
#include "loader/base/error.h"
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int bcast_orphan_last(const struct bcast_header *header,
			     const struct bcast_layout *layout,
			     struct bcast_orphan *orphan, struct error *err)
{
	const struct bcast_place *places =
		(const struct bcast_place *)((const char *)header +
					     layout->descriptors);

	orphan->published = atomic_load(&header->published);
	if (orphan->published == 0)
		return 0;
	memcpy(&orphan->last, &places[(orphan->published - 1) % layout->places],
	       sizeof(orphan->last));
	if (orphan->last.sequence == orphan->published)
		return 0;
	if (orphan->last.sequence == 0) /* it took over, and published nothing */
		return 0;
	return error_set(err, EBADMSG,
			 "the feed ends at number %llu of its stream, its last place "
			 "holds %llu",
			 (unsigned long long)orphan->published,
			 (unsigned long long)orphan->last.sequence);
}

/* A copy: whoever handed in the memory might still write to it. */
static int copy_state(const struct bcast_header *header,
		      const struct bcast_layout *layout, struct bcast_orphan *orphan,
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
	orphan->state = malloc(used);
	if (orphan->state == NULL)
		return error_sys(err, ENOMEM, "cannot read the feed's state");
	memcpy(orphan->state,
	       (const char *)header + layout->states +
		       (which - 1) * bcast_state_step(layout),
	       used);
	orphan->state_bytes = used;
	return 0;
}

static int copy_places(const struct bcast_header *header,
		       const struct bcast_layout *layout, struct bcast_orphan *orphan,
		       struct error *err)
{
	size_t bytes = layout->places * sizeof(*orphan->places);

	orphan->places = malloc(bytes);
	if (orphan->places == NULL)
		return error_sys(err, ENOMEM, "cannot read the feed's places");
	memcpy(orphan->places, (const char *)header + layout->descriptors, bytes);
	orphan->count = layout->places;
	return 0;
}

int bcast_orphan_open(int fd, struct bcast_orphan *orphan, struct error *err)
{
	const struct bcast_header *header;
	struct bcast_layout layout;
	int result;

	*orphan = (struct bcast_orphan){0};
	result = bcast_look(fd, &layout, &header, err);
	if (result < 0)
		return result;
	result = bcast_orphan_last(header, &layout, orphan, err);
	if (result == 0)
		result = copy_state(header, &layout, orphan, err);
	if (result == 0)
		result = copy_places(header, &layout, orphan, err);
	bcast_unlook(header, &layout);
	if (result < 0)
		bcast_orphan_close(orphan);
	return result;
}

void bcast_orphan_close(struct bcast_orphan *orphan)
{
	free(orphan->state);
	free(orphan->places);
	*orphan = (struct bcast_orphan){0};
}

const struct bcast_place *bcast_orphan_place(const struct bcast_orphan *orphan,
					     uint64_t sequence)
{
	const struct bcast_place *place = &orphan->places[sequence % orphan->count];

	return sequence < orphan->published && place->sequence == sequence + 1 ? place
									       : NULL;
}
