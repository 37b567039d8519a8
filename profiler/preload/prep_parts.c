/* prep_parts.c - joins parts of one name, sorts them, and finds their shares. */
#include "profiler/preload/prep_parts.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The one of that name, its numbers 0 if it is new; NULL: memory is short. */
static struct profile_part *prep_parts_find(struct profile *profile, const char *name)
{
	struct profile_part *part;

	for (size_t i = 0; i < profile->part_count; i++)
		if (strcmp(profile->parts[i].name, name) == 0)
			return &profile->parts[i];
	part = profile_add_part(profile);
	if (part == NULL)
		return NULL;
	part->calls = 0;
	part->mean_s = 0;
	if (profile_text(&part->name, "%s", name) == 0)
		return part;
	profile->part_count--;
	return NULL;
}

static int prep_parts_read(const struct io_page *page, struct profile *profile)
{
	for (unsigned i = 0; i < IO_PARTS; i++) {
		const struct io_part *from = &page->parts[i];
		struct profile_part *part;
		char name[IO_PART_NAME + 1] = {0};

		if (from->state != IO_NAMED || from->calls == 0)
			continue;
		memcpy(name, from->name, IO_PART_NAME);
		part = prep_parts_find(profile, name);
		if (part == NULL)
			return -ENOMEM;
		part->calls += from->calls;
		part->mean_s +=
			(double)from->ns * 1e-9 / (double)profile->looked_samples;
	}
	return 0;
}

/* Of a batch from a worker. */
static int prep_parts_hand_over(struct profile *profile)
{
	struct profile_part *part;

	if (!(profile->handover_s > 0) || profile->workers == 0 ||
	    profile->batch == UNKNOWN || profile->batch == 0)
		return 0;
	part = prep_parts_find(profile, PROFILE_HANDOVER);
	if (part == NULL)
		return -ENOMEM;
	part->calls = UNKNOWN;
	part->mean_s = profile->handover_s / (double)profile->batch;
	return 0;
}

static int prep_parts_costlier(const void *left, const void *right)
{
	const struct profile_part *a = left, *b = right;

	return (a->mean_s < b->mean_s) - (a->mean_s > b->mean_s);
}

static void prep_parts_share(struct profile *profile)
{
	double sum = 0;

	qsort(profile->parts, profile->part_count, sizeof(*profile->parts),
	      prep_parts_costlier);
	for (size_t i = 0; i < profile->part_count; i++)
		sum += profile->parts[i].mean_s;
	for (size_t i = 0; sum > 0 && i < profile->part_count; i++)
		profile->parts[i].share = profile->parts[i].mean_s / sum;
}

/* ---- the slowest samples ---- */

static int prep_parts_slower(const void *left, const void *right)
{
	const struct profile_slow *a = left, *b = right;

	return (a->prep_s < b->prep_s) - (a->prep_s > b->prep_s);
}

static int prep_parts_slowest(const struct io_page *page, struct profile *profile)
{
	for (unsigned i = 0; i < IO_SLOWEST; i++) {
		const struct io_slow *from = &page->slowest[i];
		struct profile_slow *slow;

		if (from->ns == 0 || from->busy)
			continue;
		slow = profile_add_slow(profile);
		if (slow == NULL)
			return -ENOMEM;
		slow->sample = from->sample;
		slow->prep_s = (double)from->ns * 1e-9;
		if (from->path[0] != '\0' &&
		    profile_text(&slow->file, "%.*s", IO_PATH - 1, from->path) < 0)
			return -ENOMEM;
	}
	if (profile->slow_count > 0)
		qsort(profile->slowest, profile->slow_count, sizeof(*profile->slowest),
		      prep_parts_slower);
	return 0;
}

int prep_parts_add(const struct io_page *page, struct profile *profile)
{
	int result;

	if (page->looked_samples == 0)
		return 0;
	profile->looked_samples = page->looked_samples;
	if (page->dropped_parts > 0)
		profile->dropped_records =
			page->dropped_parts + (profile->dropped_records == UNKNOWN
						       ? 0
						       : profile->dropped_records);
	result = prep_parts_read(page, profile);
	if (result == 0)
		result = prep_parts_hand_over(profile);
	if (result == 0)
		result = prep_parts_slowest(page, profile);
	if (result == 0 && profile->part_count > 0)
		prep_parts_share(profile);
	return result;
}
