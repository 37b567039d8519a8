#include "loader/share/wire/takeover.h"
#include "loader/base/error.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC UINT64_C(0x3172656b61746164) /* "dataker1" */

static uint64_t takeover_checksum(const void *state, size_t bytes)
{
	size_t before = offsetof(struct takeover_head, generation);

	return XXH3_64bits((const char *)state + before, bytes - before);
}

size_t takeover_bytes(const struct shared_epoch_config *config)
{
	return sizeof(struct takeover_head) + shared_epoch_state_bytes(config);
}

size_t takeover_write(struct takeover_head *head, const struct shared_epoch *shared,
		      void *to)
{
	char *behind = (char *)to + sizeof(*head);
	size_t bytes;

	head->magic = MAGIC;
	head->shared_epoch_bytes = shared_epoch_save(shared, head->lap, behind);
	bytes = sizeof(*head) + head->shared_epoch_bytes;
	memcpy(to, head, sizeof(*head));
	head->checksum = takeover_checksum(to, bytes);
	memcpy(to, head, sizeof(*head));
	return bytes;
}

static bool takeover_whole(const struct bcast_orphan *orphan,
			   struct takeover_head *head)
{
	if (orphan->state_bytes < sizeof(*head))
		return false;
	memcpy(head, orphan->state, sizeof(*head));
	/* a shared epoch has at least a byte of each sample */
	return head->magic == MAGIC && head->samples > 0 &&
	       head->samples <= head->shared_epoch_bytes &&
	       head->shared_epoch_bytes == orphan->state_bytes - sizeof(*head) &&
	       head->checksum == takeover_checksum(orphan->state, orphan->state_bytes);
}

static bool has_entries(const struct takeover_head *head)
{
	for (int i = 0; i < BCAST_READERS; i++)
		if (head->entries[i] < -1 || head->entries[i] >= SHARED_EPOCH_ENTRIES)
			return false;
	return head->round >= -1 && head->round < SHARED_EPOCH_ENTRIES;
}

/* Where the last place that was published ends, as a point of the shared epoch. */
static bool find_point(const struct bcast_orphan *orphan, struct takeover *takeover)
{
	struct pipeline_point *point = &takeover->point;
	struct plan_lap lap;

	*point = takeover->head.start;
	if (orphan->last.sequence != 0)
		*point = (struct pipeline_point){
			orphan->last.lap, orphan->last.position, orphan->last.stolen};
	if (point->lap - takeover->head.lap > SHARED_EPOCH_LAPS)
		return false;
	plan_lap(shared_epoch_plan(takeover->shared), point->lap, &lap);
	if (point->position > lap.length || point->stolen > lap.length)
		return false;
	if (lap.length > 0 && point->position == lap.length)
		*point = (struct pipeline_point){.lap = point->lap + 1};
	return true;
}

int takeover_read(const struct bcast_orphan *orphan, struct takeover *takeover,
		  struct error *err)
{
	struct takeover_head *head = &takeover->head;
	struct shared_epoch_config config;

	if (!takeover_whole(orphan, head) || !has_entries(head))
		return error_set(err, EBADMSG,
				 "the memory of the loader before is damaged");
	config = (struct shared_epoch_config){
		.count = head->samples,
		.seed = head->seed,
		.in_order = head->in_order != 0,
		.end_epoch = head->end_epoch,
	};
	takeover->shared =
		shared_epoch_load(&config, (const char *)orphan->state + sizeof(*head),
				  head->shared_epoch_bytes, err);
	if (takeover->shared == NULL)
		return -err->code;
	if (find_point(orphan, takeover))
		return 0;
	takeover_fini(takeover);
	return error_set(err, EBADMSG,
			 "the memory of the loader before does not say "
			 "where it ended");
}

void takeover_fini(struct takeover *takeover)
{
	shared_epoch_close(takeover->shared);
	takeover->shared = NULL;
}
