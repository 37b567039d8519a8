/* course_state.c - a course as bytes, and back: they may come from anybody. */
#include "loader/share/wire/course_state.h"
#include "loader/base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* head | parts | laps | stream of these laps, u32 | part of each sample, u8 */
struct head {
	char magic[8];
	uint64_t seed;
	uint64_t laid; /* of these, the last `laps` follow */
	uint32_t laps, at;
	uint32_t count, in_order;
};

static const char magic[8] = "dsacrs1";

/* Numbers that count laps, epochs and positions: no sum of two overflows. */
#define MOST (UINT64_MAX >> 2)

size_t course_state_bytes(const struct course_config *config)
{
	return sizeof(struct head) + COURSE_CUTS * sizeof(struct course_part) +
	       COURSE_LAPS * sizeof(struct course_lap) +
	       course_room(config) * sizeof(uint32_t) + config->count;
}

static const struct course_lap *lap_of(const struct course *course, uint64_t lap)
{
	return &course->laps[lap % COURSE_LAPS];
}

static uint64_t course_state_positions(const struct course *course, uint64_t lap)
{
	uint64_t total = 0;

	for (; lap < course->laid; lap++)
		total += lap_of(course, lap)->length;
	return total;
}

/* The first lap to save: the newest at least, and none whose positions are not kept. */
static uint64_t first_kept(const struct course *course, uint64_t lap)
{
	uint64_t oldest = course->laid > COURSE_LAPS ? course->laid - COURSE_LAPS : 0;

	if (lap >= course->laid)
		lap = course->laid - 1;
	if (lap < oldest)
		lap = oldest;
	while (course_state_positions(course, lap) > course->room)
		lap++;
	return lap;
}

static unsigned char *course_state_put(unsigned char *to, const void *bytes,
				       size_t count)
{
	memcpy(to, bytes, count);
	return to + count;
}

/* A run of positions, which may go round the ring's end. */
static unsigned char *put_stream(unsigned char *to, const struct course *course,
				 uint64_t first, uint64_t count)
{
	uint64_t at = first % course->room, run = course->room - at;

	if (run > count)
		run = count;
	to = course_state_put(to, course->stream + at, run * sizeof(uint32_t));
	return course_state_put(to, course->stream, (count - run) * sizeof(uint32_t));
}

size_t course_save(const struct course *course, uint64_t lap, void *state)
{
	const struct course_config *config = &course->config;
	struct head head = {.seed = config->seed,
			    .laid = course->laid,
			    .at = course->at,
			    .count = config->count,
			    .in_order = config->in_order};
	unsigned char *to = state;

	lap = course->laid > 0 ? first_kept(course, lap) : 0;
	memcpy(head.magic, magic, sizeof(magic));
	head.laps = (uint32_t)(course->laid - lap);
	to = course_state_put(to, &head, sizeof(head));
	to = course_state_put(to, course->parts, sizeof(course->parts));
	for (uint64_t i = lap; i < course->laid; i++)
		to = course_state_put(to, lap_of(course, i), sizeof(struct course_lap));
	if (head.laps > 0)
		to = put_stream(to, course, lap_of(course, lap)->first,
				course_state_positions(course, lap));
	to = course_state_put(to, course->part_of, config->count);
	return (size_t)(to - (unsigned char *)state);
}

/* ---- back ---- */

struct reader {
	const unsigned char *at;
	size_t left;
};

static bool course_state_get(struct reader *reader, void *to, size_t bytes)
{
	if (bytes > reader->left)
		return false;
	memcpy(to, reader->at, bytes);
	reader->at += bytes;
	reader->left -= bytes;
	return true;
}

static bool get_head(struct reader *reader, struct course *course, uint32_t *laps)
{
	const struct course_config *config = &course->config;
	struct head head;

	if (!course_state_get(reader, &head, sizeof(head)) ||
	    memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    head.seed != config->seed || head.count != config->count ||
	    head.in_order != config->in_order)
		return false;
	course->laid = head.laid;
	course->at = head.at;
	*laps = head.laps;
	return head.laid <= MOST && head.at < COURSE_CUTS && head.laps <= head.laid &&
	       head.laps <= COURSE_LAPS && (head.laps > 0 || head.laid == 0);
}

static bool part_fits(const struct course *course, const struct course_part *part)
{
	if (part->live == 0)
		return true;
	return part->live == 1 && part->next < COURSE_CUTS && part->length > 0 &&
	       part->length <= course->config.count && part->owners <= COURSE_CUTS &&
	       part->epoch <= MOST &&
	       (part->began <= course->laid || part->began == UINT64_MAX);
}

/* They are one circle, and what is in them makes up the data set. */
static bool parts_fit(const struct course *course)
{
	uint64_t total = 0;
	unsigned live = course_parts(course), at = course->at;

	for (unsigned i = 0; i < COURSE_CUTS; i++)
		if (!part_fits(course, &course->parts[i]))
			return false;
	for (unsigned i = 0; i < live; i++) {
		if (course->parts[at].live == 0)
			return false;
		total += course->parts[at].length;
		at = course->parts[at].next;
		if (at == course->at && i + 1 < live)
			return false;
	}
	return live > 0 && at == course->at && total == course->config.count;
}

static bool members_fit(const struct course *course)
{
	uint32_t lengths[COURSE_CUTS] = {0};

	for (uint32_t i = 0; i < course->config.count; i++) {
		if (course->part_of[i] >= COURSE_CUTS)
			return false;
		lengths[course->part_of[i]]++;
	}
	for (unsigned i = 0; i < COURSE_CUTS; i++)
		if (lengths[i] != course->parts[i].length)
			return false;
	return true;
}

static bool get_laps(struct reader *reader, struct course *course, uint64_t lap)
{
	uint64_t first = 0, total = 0;

	for (uint64_t i = lap; i < course->laid; i++) {
		struct course_lap *to = &course->laps[i % COURSE_LAPS];

		if (!course_state_get(reader, to, sizeof(*to)) ||
		    to->cut >= COURSE_CUTS || to->length > course->config.count ||
		    to->first > MOST || to->epoch > MOST ||
		    (i > lap && to->first != first))
			return false;
		first = to->first + to->length;
		total += to->length;
	}
	return total <= course->room;
}

/* `seen`: of each sample the last lap that it is in, counted from 1. */
static bool get_order(struct reader *reader, struct course *course, uint64_t lap,
		      uint32_t mark, uint32_t *seen)
{
	const struct course_lap *at = lap_of(course, lap);

	for (uint32_t i = 0; i < at->length; i++) {
		uint32_t sample;

		if (!course_state_get(reader, &sample, sizeof(sample)) ||
		    sample >= course->config.count || seen[sample] == mark)
			return false;
		seen[sample] = mark;
		course->stream[(at->first + i) % course->room] = sample;
	}
	return true;
}

static bool get_stream(struct reader *reader, struct course *course, uint64_t lap)
{
	uint32_t mark = 0;
	bool fits = true;

	for (; fits && lap < course->laid; lap++)
		fits = get_order(reader, course, lap, ++mark, course->row);
	return fits;
}

/* The newest lap may be cut yet: it is its part, all of it. */
static bool newest_fits(const struct course *course)
{
	const struct course_lap *lap = lap_of(course, course->laid - 1);
	const struct course_part *part = &course->parts[lap->cut];

	if (part->live == 0)
		return false;
	if (lap->length == 0)
		return true;
	for (uint32_t i = 0; i < lap->length; i++)
		if (course->part_of[course->stream[(lap->first + i) % course->room]] !=
		    lap->cut)
			return false;
	return lap->length == part->length && part->next == course->at &&
	       part->epoch > lap->epoch;
}

static bool get_all(struct reader *reader, struct course *course)
{
	uint32_t laps;

	return get_head(reader, course, &laps) &&
	       course_state_get(reader, course->parts, sizeof(course->parts)) &&
	       parts_fit(course) && get_laps(reader, course, course->laid - laps) &&
	       get_stream(reader, course, course->laid - laps) &&
	       course_state_get(reader, course->part_of, course->config.count) &&
	       members_fit(course) && (laps == 0 || newest_fits(course)) &&
	       reader->left == 0;
}

struct course *course_load(const struct course_config *config, const void *state,
			   size_t bytes, struct error *err)
{
	struct reader reader = {state, bytes};
	struct course *course = course_blank(config, err);

	if (course == NULL)
		return NULL;
	if (get_all(&reader, course))
		return course;
	course_close(course);
	error_set(err, EBADMSG,
		  "what the loader before left is of another data set, or damaged");
	return NULL;
}
