/*
 * course.c - laps are laid out one after another in a ring of positions.
 *
 *	stream   | lap 7      | lap 8 | lap 9          |        global position % room
 *	         kept ..                newest         ^ the lap of part `at` comes here
 *
 * A lap is written in full when it is first asked for, so that a cut in its middle moves
 * nothing: the rest of it becomes the next lap where it stands. What a lap holds is the
 * permutation of its epoch without the samples of other parts: one walk over the data
 * set's numbers.
 */
#include "loader/share/wire/course.h"
#include "loader/base/error.h"
#include "loader/base/permutation.h"
#include "loader/share/wire/course_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* NULL: it is not laid out yet, or not kept any more. */
static struct course_lap *course_find(struct course *course, uint64_t lap)
{
	if (lap >= course->laid || course->laid - lap > COURSE_LAPS)
		return NULL;
	return &course->laps[lap % COURSE_LAPS];
}

static unsigned course_before(const struct course *course, unsigned cut)
{
	unsigned part = cut;

	while (course->parts[part].next != cut)
		part = course->parts[part].next;
	return part;
}

/* The part before a cut takes in the one that begins there. */
static void course_merge(struct course *course, unsigned cut)
{
	struct course_part *gone = &course->parts[cut];
	unsigned into = course_before(course, cut);
	struct course_part *part = &course->parts[into];

	part->next = gone->next;
	part->length += gone->length;
	/* Of two epochs the later one, so that no sample has the same one twice. */
	if (gone->epoch > part->epoch)
		part->epoch = gone->epoch;
	for (uint32_t i = 0; i < course->config.count; i++)
		if (course->part_of[i] == cut)
			course->part_of[i] = (uint8_t)into;
	*gone = (struct course_part){0};
}

/*
 * Merges at all cuts without an owner. Not at that of the part that comes next: what was
 * laid out last was the part before it, and it is still to come in this round. Nor at
 * `spare`.
 */
static void course_sweep(struct course *course, unsigned spare)
{
	for (unsigned i = 0; i < COURSE_CUTS; i++)
		if (course->parts[i].live && course->parts[i].owners == 0 &&
		    i != course->at && i != spare && course->parts[i].next != i)
			course_merge(course, i);
}

static unsigned newest_cut(struct course *course)
{
	return course->laid > 0 ? course_find(course, course->laid - 1)->cut
				: course->at;
}

/* The permutation of an epoch; the last one is kept for the parts of a round. */
static const uint32_t *course_row(struct course *course, uint64_t epoch)
{
	const struct course_config *config = &course->config;

	if (course->row_filled && (config->in_order || course->row_epoch == epoch))
		return course->row;
	if (config->in_order)
		for (uint32_t i = 0; i < config->count; i++)
			course->row[i] = i;
	else
		permutation_fill(course->row, config->count, config->seed, epoch);
	course->row_epoch = epoch;
	course->row_filled = true;
	return course->row;
}

static void write_order(struct course *course, const struct course_lap *lap)
{
	const uint32_t *order = course_row(course, lap->epoch);
	uint64_t to = lap->first % course->room;

	for (uint32_t i = 0; i < course->config.count; i++) {
		if (course->part_of[order[i]] != lap->cut)
			continue;
		course->stream[to] = order[i];
		to = to + 1 < course->room ? to + 1 : 0;
	}
}

static struct course_lap *add_lap(struct course *course, uint64_t first, uint64_t epoch,
				  unsigned cut)
{
	struct course_lap *lap = &course->laps[course->laid % COURSE_LAPS];

	*lap = (struct course_lap){.first = first, .epoch = epoch, .cut = cut};
	course->parts[cut].began = course->laid++;
	return lap;
}

static void course_lay(struct course *course)
{
	const struct course_lap *last =
		course->laid > 0 ? course_find(course, course->laid - 1) : NULL;
	struct course_part *part = &course->parts[course->at];
	struct course_lap *lap;

	course_sweep(course, course->at);
	lap = add_lap(course, last != NULL ? last->first + last->length : 0,
		      part->epoch, course->at);
	if (part->epoch >= course->config.end_epoch)
		return;
	lap->length = part->length;
	write_order(course, lap);
	part->epoch++;
	course->at = part->next;
}

static struct course_lap *course_reach(struct course *course, uint64_t lap)
{
	while (course->laid <= lap)
		course_lay(course);
	return course_find(course, lap);
}

static struct course *course_of(struct plan *plan)
{
	return (struct course *)plan;
}

static void plan_of_lap(struct plan *plan, uint64_t lap, struct plan_lap *out)
{
	const struct course_lap *found = course_reach(course_of(plan), lap);

	*out = (struct plan_lap){0};
	if (found != NULL)
		*out = (struct plan_lap){.first = found->first,
					 .length = found->length,
					 .epoch = found->epoch};
}

static uint32_t at_position(const struct course *course, const struct course_lap *lap,
			    uint32_t position)
{
	return course->stream[(lap->first + position) % course->room];
}

static uint32_t plan_of_sample(struct plan *plan, uint64_t lap, uint32_t position)
{
	return at_position(course_of(plan), course_reach(course_of(plan), lap),
			   position);
}

static const struct plan_ops ops = {.lap = plan_of_lap, .sample = plan_of_sample};

/* ---- what was laid out too early ---- */

/* Nothing was cut or merged since the lap was laid out. */
static bool course_is_whole(const struct course *course, const struct course_lap *lap)
{
	if (course->parts[lap->cut].length != lap->length)
		return false;
	for (uint32_t i = 0; i < lap->length; i++)
		if (course->part_of[at_position(course, lap, i)] != lap->cut)
			return false;
	return true;
}

static uint64_t last_of(const struct course *course, unsigned cut)
{
	for (uint64_t back = 1; back <= course->laid && back <= COURSE_LAPS; back++) {
		uint64_t lap = course->laid - back;
		const struct course_lap *at = &course->laps[lap % COURSE_LAPS];

		if (at->length > 0 && at->cut == cut)
			return lap;
	}
	return UINT64_MAX;
}

static bool take_back(struct course *course)
{
	const struct course_lap *last = course_find(course, course->laid - 1);
	const struct course_lap *before = course_find(course, course->laid - 2);
	struct course_part *part = &course->parts[last->cut];

	if (last->length > 0) { /* else: it is the end of the data */
		if (before == NULL || before->length == 0 ||
		    course->parts[before->cut].next != last->cut ||
		    course->at != part->next || part->epoch != last->epoch + 1 ||
		    !course_is_whole(course, before) || !course_is_whole(course, last))
			return false;
		part->epoch--;
		course->at = last->cut;
	}
	course->laid--;
	part->began = last_of(course, last->cut);
	return true;
}

void course_take_back(struct course *course, uint64_t lap)
{
	while (course->laid > lap + 1 && take_back(course))
		;
}

/* ---- cuts ---- */

static int free_cut(const struct course *course)
{
	for (int i = 0; i < COURSE_CUTS; i++)
		if (!course->parts[i].live)
			return i;
	return -EBUSY;
}

/* Ends the newest lap at a position within it. */
static int course_split(struct course *course, struct course_lap *lap,
			uint32_t position)
{
	struct course_part *part = &course->parts[lap->cut];
	uint32_t rest = lap->length - position;
	int cut = free_cut(course);

	if (cut < 0)
		return cut;
	for (uint32_t i = position; i < lap->length; i++)
		course->part_of[at_position(course, lap, i)] = (uint8_t)cut;
	course->parts[cut] = (struct course_part){
		.live = 1, .next = part->next, .length = rest, .epoch = part->epoch};
	part->next = (uint32_t)cut;
	part->length = position;
	lap->length = position;
	add_lap(course, lap->first + position, lap->epoch, (unsigned)cut)->length =
		rest;
	return cut;
}

int course_cut(struct course *course, uint64_t lap, uint32_t position)
{
	struct course_lap *found = course_reach(course, lap);
	int cut;

	course_take_back(course, lap);
	if (found != NULL && position > 0 && position == found->length) {
		found = course_reach(course, ++lap);
		position = 0;
	}
	if (found == NULL || lap + 1 != course->laid || position > found->length)
		return -EINVAL;
	cut = position == 0 ? (int)found->cut : course_split(course, found, position);
	if (cut >= 0)
		course->parts[cut].owners++;
	return cut;
}

void course_ref(struct course *course, unsigned cut)
{
	course->parts[cut].owners++;
}

void course_put(struct course *course, unsigned cut)
{
	course->parts[cut].owners--;
	course_sweep(course, newest_cut(course));
}

uint64_t course_began(const struct course *course, unsigned cut)
{
	return course->parts[cut].began;
}

int course_cut_of(struct course *course, uint64_t lap)
{
	const struct course_lap *found = course_find(course, lap);

	return found != NULL ? (int)found->cut : -1;
}

unsigned course_parts(const struct course *course)
{
	unsigned parts = 0;

	for (unsigned i = 0; i < COURSE_CUTS; i++)
		parts += course->parts[i].live != 0;
	return parts;
}

/* ---- what is to come ---- */

/* The next lap of a part, as far as there is room for it. */
static uint32_t rest_of_part(struct course *course, unsigned cut, uint32_t places,
			     uint32_t *samples)
{
	const struct course_part *part = &course->parts[cut];
	uint32_t found = 0;
	const uint32_t *order;

	if (part->epoch >= course->config.end_epoch)
		return 0;
	order = course_row(course, part->epoch);
	for (uint32_t i = 0; i < course->config.count && found < places; i++)
		if (course->part_of[order[i]] == cut)
			samples[found++] = order[i];
	return found;
}

uint32_t course_rest(struct course *course, uint64_t lap, uint32_t position,
		     uint32_t stolen, uint32_t places, uint32_t *samples)
{
	const struct course_lap *at = course_reach(course, lap);
	unsigned part = course->at, parts = course_parts(course);
	uint32_t found = 0, taken;

	for (; at != NULL && places > 0; at = course_find(course, ++lap)) {
		for (; position < at->length && places > 0; position++, places--)
			if (position >= stolen)
				samples[found++] = at_position(course, at, position);
		position = stolen = 0;
	}
	for (; parts > 0 && places > 0; parts--) {
		taken = rest_of_part(course, part, places, samples + found);
		found += taken;
		places -= taken;
		part = course->parts[part].next;
	}
	return found;
}

/* ---- life ---- */

uint64_t course_room(const struct course_config *config)
{
	uint64_t count = config->count, wanted = 2 * count + COURSE_AHEAD;

	return count * COURSE_LAPS < wanted ? count * COURSE_LAPS : wanted;
}

struct course *course_blank(const struct course_config *config, struct error *err)
{
	struct course *course;

	if (config->count == 0) {
		error_set(err, EINVAL, "there are no samples to draw from");
		return NULL;
	}
	course = calloc(1, sizeof(*course));
	if (course == NULL)
		goto no_memory;
	course->plan.ops = &ops;
	course->config = *config;
	course->room = course_room(config);
	course->stream = calloc(course->room, sizeof(*course->stream));
	course->row = calloc(config->count, sizeof(*course->row));
	course->part_of = calloc(config->count, sizeof(*course->part_of));
	if (course->stream != NULL && course->row != NULL && course->part_of != NULL)
		return course;

no_memory:
	course_close(course);
	error_sys(err, ENOMEM, "cannot shuffle %u samples", config->count);
	return NULL;
}

struct course *course_open(const struct course_config *config, struct error *err)
{
	struct course *course = course_blank(config, err);

	if (course != NULL)
		course->parts[0] =
			(struct course_part){.live = 1, .length = config->count};
	return course;
}

struct plan *course_plan(struct course *course)
{
	return &course->plan;
}

void course_close(struct course *course)
{
	if (course == NULL)
		return;
	free(course->stream);
	free(course->row);
	free(course->part_of);
	free(course);
}
