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

size_t takeover_bytes(const struct course_config *config)
{
	return sizeof(struct takeover_head) + course_state_bytes(config);
}

size_t takeover_write(struct takeover_head *head, const struct course *course, void *to)
{
	char *behind = (char *)to + sizeof(*head);
	size_t bytes;

	head->magic = MAGIC;
	head->course_bytes = course_save(course, head->lap, behind);
	bytes = sizeof(*head) + head->course_bytes;
	memcpy(to, head, sizeof(*head));
	head->checksum = takeover_checksum(to, bytes);
	memcpy(to, head, sizeof(*head));
	return bytes;
}

static bool takeover_whole(const struct feed_wreck *wreck, struct takeover_head *head)
{
	if (wreck->state_bytes < sizeof(*head))
		return false;
	memcpy(head, wreck->state, sizeof(*head));
	/* a course has at least a byte of each sample */
	return head->magic == MAGIC && head->samples > 0 &&
	       head->samples <= head->course_bytes &&
	       head->course_bytes == wreck->state_bytes - sizeof(*head) &&
	       head->checksum == takeover_checksum(wreck->state, wreck->state_bytes);
}

static bool has_cuts(const struct takeover_head *head)
{
	for (int i = 0; i < FEED_SEATS; i++)
		if (head->cuts[i] < -1 || head->cuts[i] >= COURSE_CUTS)
			return false;
	return head->round >= -1 && head->round < COURSE_CUTS;
}

/* Where the last place that was published ends, as a point of the course. */
static bool find_point(const struct feed_wreck *wreck, struct takeover *takeover)
{
	struct pipeline_point *point = &takeover->point;
	struct plan_lap lap;

	*point = takeover->head.start;
	if (wreck->last.sequence != 0)
		*point = (struct pipeline_point){wreck->last.lap, wreck->last.position,
						 wreck->last.stolen};
	if (point->lap - takeover->head.lap > COURSE_LAPS)
		return false;
	plan_lap(course_plan(takeover->course), point->lap, &lap);
	if (point->position > lap.length || point->stolen > lap.length)
		return false;
	if (lap.length > 0 && point->position == lap.length)
		*point = (struct pipeline_point){.lap = point->lap + 1};
	return true;
}

int takeover_read(const struct feed_wreck *wreck, struct takeover *takeover,
		  struct error *err)
{
	struct takeover_head *head = &takeover->head;
	struct course_config config;

	if (!takeover_whole(wreck, head) || !has_cuts(head))
		return error_set(err, EBADMSG,
				 "the memory of the loader before is damaged");
	config = (struct course_config){
		.count = head->samples,
		.seed = head->seed,
		.in_order = head->in_order != 0,
		.end_epoch = head->end_epoch,
	};
	takeover->course =
		course_load(&config, (const char *)wreck->state + sizeof(*head),
			    head->course_bytes, err);
	if (takeover->course == NULL)
		return -err->code;
	if (find_point(wreck, takeover))
		return 0;
	takeover_fini(takeover);
	return error_set(err, EBADMSG,
			 "the memory of the loader before does not say "
			 "where it ended");
}

void takeover_fini(struct takeover *takeover)
{
	course_close(takeover->course);
	takeover->course = NULL;
}
