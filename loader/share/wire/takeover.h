/*
 * takeover.h - what a shared loader leaves in its feed (feed_save()) for whoever goes on
 * after its death: another shared loader, or a job by itself. Private to loader/share/.
 */
#ifndef DSA_SHARE_TAKEOVER_H
#define DSA_SHARE_TAKEOVER_H

#include "loader/pipeline.h"
#include "loader/share/ring/feed.h"
#include "loader/share/wire/course.h"

/* Who left it, and of what. Saved as it is, the course behind it. */
struct takeover_head {
	uint64_t magic;
	uint64_t checksum; /* XXH3-64 of all behind it */
	uint64_t generation;
	uint64_t digest, seed, end_epoch; /* of the data set; of the course: */
	uint32_t samples, in_order;
	uint32_t mode;
	int32_t round; /* cut that rounds of lockstep begin at; -1: none */
	struct pipeline_point start; /* of the feed's first place */
	int32_t cuts[FEED_SEATS];    /* of each seat; -1: none */
	uint64_t lap;                /* the course's from this one on */
	uint64_t course_bytes;
};

struct takeover {
	struct takeover_head head;
	struct course *course;
	struct pipeline_point point; /* where the last place published ends */
};

size_t takeover_bytes(const struct course_config *config); /* at the most */

/* Writes head, which is completed, and the course from head->lap on. Returns the bytes. */
size_t takeover_write(struct takeover_head *head, const struct course *course,
		      void *to);

/* Reads what a dead loader left, of which nothing is believed unchecked. 0 or -errno;
 * takeover_fini() after 0. */
int takeover_read(const struct feed_wreck *wreck, struct takeover *takeover,
		  struct error *err);
void takeover_fini(struct takeover *takeover);

#endif
