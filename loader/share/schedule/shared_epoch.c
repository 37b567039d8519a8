/*
 * shared_epoch.c - passes are laid out one after another in a ring of positions.
 *
 *	stream   | pass 7      | pass 8 | pass 9          |        global position % room
 *	         kept ..                newest         ^ the pass of part `at` comes here
 *
 * A pass is written in full when it is first asked for, so that an entry in its middle
 * moves nothing: the rest of it becomes the next pass where it stands. What a pass
 * holds is the permutation of its epoch without the samples of other parts: one walk
 * over the data set's numbers.
 */
#include "loader/share/schedule/shared_epoch.h"
#include "loader/base/error.h"
#include "loader/sampler.h"

#include <errno.h>
#include <stdlib.h>

/* The samples from an entry point to the next one; its number is the entry's. */
struct shared_epoch_part {
	uint64_t epoch; /* of its next pass */
	uint64_t began; /* its last pass, or its first one to come; UINT64_MAX: n/a */
	uint32_t length;
	uint32_t owners;
	uint32_t next; /* the part behind it */
	uint32_t live;
};

struct shared_epoch_pass {
	uint64_t first; /* global position */
	uint64_t epoch;
	uint32_t length;
	uint32_t entry; /* it began at; of the newest pass it is live */
};

struct shared_epoch {
	struct plan plan; /* first: a plan is its shared epoch */
	struct shared_epoch_config config;
	struct shared_epoch_part parts[SHARED_EPOCH_ENTRIES];
	unsigned at;   /* the part whose pass is laid out next */
	uint64_t laid; /* passes so far: the newest is laid - 1 */
	/* Pass L lies in L % SHARED_EPOCH_PASSES. */
	struct shared_epoch_pass passes[SHARED_EPOCH_PASSES];
	uint32_t *stream; /* sample of a global position % room */
	uint64_t room;
	struct sampler *sampler; /* permutations of epochs */
	uint8_t *part_of;        /* of each sample */
};

/* NULL: it is not laid out yet, or not kept any more. */
static struct shared_epoch_pass *shared_epoch_find(struct shared_epoch *shared,
						   uint64_t pass)
{
	if (pass >= shared->laid || shared->laid - pass > SHARED_EPOCH_PASSES)
		return NULL;
	return &shared->passes[pass % SHARED_EPOCH_PASSES];
}

static unsigned shared_epoch_before(const struct shared_epoch *shared, unsigned entry)
{
	unsigned part = entry;

	while (shared->parts[part].next != entry)
		part = shared->parts[part].next;
	return part;
}

/* Merges a part into the one before it. */
static void shared_epoch_merge(struct shared_epoch *shared, unsigned entry)
{
	struct shared_epoch_part *gone = &shared->parts[entry];
	unsigned into = shared_epoch_before(shared, entry);
	struct shared_epoch_part *part = &shared->parts[into];

	part->next = gone->next;
	part->length += gone->length;
	/* Of two epochs the later one, so that no sample has the same one twice. */
	if (gone->epoch > part->epoch)
		part->epoch = gone->epoch;
	for (uint32_t i = 0; i < shared->config.count; i++)
		if (shared->part_of[i] == entry)
			shared->part_of[i] = (uint8_t)into;
	*gone = (struct shared_epoch_part){0};
}

/*
 * Merges at all entry points without an owner. Not at that of the part that comes next:
 * what was laid out last was the part before it, and it is still to come in this round.
 * Nor at `spare`.
 */
static void shared_epoch_sweep(struct shared_epoch *shared, unsigned spare)
{
	for (unsigned i = 0; i < SHARED_EPOCH_ENTRIES; i++)
		if (shared->parts[i].live && shared->parts[i].owners == 0 &&
		    i != shared->at && i != spare && shared->parts[i].next != i)
			shared_epoch_merge(shared, i);
}

static unsigned shared_epoch_newest_entry(struct shared_epoch *shared)
{
	return shared->laid > 0 ? shared_epoch_find(shared, shared->laid - 1)->entry
				: shared->at;
}

static void shared_epoch_write_order(struct shared_epoch *shared,
				     const struct shared_epoch_pass *pass)
{
	uint64_t to = pass->first % shared->room;

	for (uint32_t i = 0; i < shared->config.count; i++) {
		uint32_t sample = sampler_sample(shared->sampler, pass->epoch, i);

		if (shared->part_of[sample] != pass->entry)
			continue;
		shared->stream[to] = sample;
		to = to + 1 < shared->room ? to + 1 : 0;
	}
}

static struct shared_epoch_pass *shared_epoch_add_pass(struct shared_epoch *shared,
						       uint64_t first, uint64_t epoch,
						       unsigned entry)
{
	struct shared_epoch_pass *pass =
		&shared->passes[shared->laid % SHARED_EPOCH_PASSES];

	*pass = (struct shared_epoch_pass){
		.first = first, .epoch = epoch, .entry = entry};
	shared->parts[entry].began = shared->laid++;
	return pass;
}

static void shared_epoch_lay(struct shared_epoch *shared)
{
	const struct shared_epoch_pass *last =
		shared->laid > 0 ? shared_epoch_find(shared, shared->laid - 1) : NULL;
	struct shared_epoch_part *part = &shared->parts[shared->at];
	struct shared_epoch_pass *pass;

	shared_epoch_sweep(shared, shared->at);
	pass = shared_epoch_add_pass(shared,
				     last != NULL ? last->first + last->length : 0,
				     part->epoch, shared->at);
	if (part->epoch >= shared->config.end_epoch)
		return;
	pass->length = part->length;
	shared_epoch_write_order(shared, pass);
	part->epoch++;
	shared->at = part->next;
}

static struct shared_epoch_pass *shared_epoch_reach(struct shared_epoch *shared,
						    uint64_t pass)
{
	while (shared->laid <= pass)
		shared_epoch_lay(shared);
	return shared_epoch_find(shared, pass);
}

static struct shared_epoch *shared_epoch_of(struct plan *plan)
{
	return (struct shared_epoch *)plan;
}

static void shared_epoch_plan_of_pass(struct plan *plan, uint64_t pass,
				      struct plan_pass *out)
{
	const struct shared_epoch_pass *found =
		shared_epoch_reach(shared_epoch_of(plan), pass);

	*out = (struct plan_pass){0};
	if (found != NULL)
		*out = (struct plan_pass){.first = found->first,
					  .length = found->length,
					  .epoch = found->epoch};
}

static uint32_t shared_epoch_at_position(const struct shared_epoch *shared,
					 const struct shared_epoch_pass *pass,
					 uint32_t position)
{
	return shared->stream[(pass->first + position) % shared->room];
}

static uint32_t shared_epoch_plan_of_sample(struct plan *plan, uint64_t pass,
					    uint32_t position)
{
	return shared_epoch_at_position(shared_epoch_of(plan),
					shared_epoch_reach(shared_epoch_of(plan), pass),
					position);
}

static const struct plan_ops ops = {.pass = shared_epoch_plan_of_pass,
				    .sample = shared_epoch_plan_of_sample};

/* ---- what was laid out too early ---- */

/* Nothing was split or merged since the pass was laid out. */
static bool shared_epoch_is_whole(const struct shared_epoch *shared,
				  const struct shared_epoch_pass *pass)
{
	if (shared->parts[pass->entry].length != pass->length)
		return false;
	for (uint32_t i = 0; i < pass->length; i++)
		if (shared->part_of[shared_epoch_at_position(shared, pass, i)] !=
		    pass->entry)
			return false;
	return true;
}

static uint64_t shared_epoch_last_of(const struct shared_epoch *shared, unsigned entry)
{
	for (uint64_t back = 1; back <= shared->laid && back <= SHARED_EPOCH_PASSES;
	     back++) {
		uint64_t pass = shared->laid - back;
		const struct shared_epoch_pass *at =
			&shared->passes[pass % SHARED_EPOCH_PASSES];

		if (at->length > 0 && at->entry == entry)
			return pass;
	}
	return UINT64_MAX;
}

static bool shared_epoch_take_one_back(struct shared_epoch *shared)
{
	const struct shared_epoch_pass *last =
		shared_epoch_find(shared, shared->laid - 1);
	const struct shared_epoch_pass *before =
		shared_epoch_find(shared, shared->laid - 2);
	struct shared_epoch_part *part = &shared->parts[last->entry];

	if (last->length > 0) { /* else: it is the end of the data */
		if (before == NULL || before->length == 0 ||
		    shared->parts[before->entry].next != last->entry ||
		    shared->at != part->next || part->epoch != last->epoch + 1 ||
		    !shared_epoch_is_whole(shared, before) ||
		    !shared_epoch_is_whole(shared, last))
			return false;
		part->epoch--;
		shared->at = last->entry;
	}
	shared->laid--;
	part->began = shared_epoch_last_of(shared, last->entry);
	return true;
}

/* Passes beyond this one were asked for too early, by a pipeline that was put back:
 * they are laid out again when they are asked for, with the same samples unless a job
 * begins before. Those that parts have changed since stay. */
static void shared_epoch_take_back(struct shared_epoch *shared, uint64_t pass)
{
	while (shared->laid > pass + 1 && shared_epoch_take_one_back(shared))
		;
}

/* ---- entry points ---- */

static int shared_epoch_free_entry(const struct shared_epoch *shared)
{
	for (int i = 0; i < SHARED_EPOCH_ENTRIES; i++)
		if (!shared->parts[i].live)
			return i;
	return -EBUSY;
}

/* Ends the newest pass at a position within it. */
static int shared_epoch_split(struct shared_epoch *shared,
			      struct shared_epoch_pass *pass, uint32_t position)
{
	struct shared_epoch_part *part = &shared->parts[pass->entry];
	uint32_t rest = pass->length - position;
	int entry = shared_epoch_free_entry(shared);

	if (entry < 0)
		return entry;
	for (uint32_t i = position; i < pass->length; i++)
		shared->part_of[shared_epoch_at_position(shared, pass, i)] =
			(uint8_t)entry;
	shared->parts[entry] = (struct shared_epoch_part){
		.live = 1, .next = part->next, .length = rest, .epoch = part->epoch};
	part->next = (uint32_t)entry;
	part->length = position;
	pass->length = position;
	shared_epoch_add_pass(shared, pass->first + position, pass->epoch,
			      (unsigned)entry)
		->length = rest;
	return entry;
}

int shared_epoch_enter(struct shared_epoch *shared, uint64_t pass, uint32_t position)
{
	struct shared_epoch_pass *found = shared_epoch_reach(shared, pass);
	int entry;

	shared_epoch_take_back(shared, pass);
	if (found != NULL && position > 0 && position == found->length) {
		found = shared_epoch_reach(shared, ++pass);
		position = 0;
	}
	if (found == NULL || pass + 1 != shared->laid || position > found->length)
		return -EINVAL;
	entry = position == 0 ? (int)found->entry
			      : shared_epoch_split(shared, found, position);
	if (entry >= 0)
		shared->parts[entry].owners++;
	return entry;
}

void shared_epoch_ref(struct shared_epoch *shared, unsigned entry)
{
	shared->parts[entry].owners++;
}

void shared_epoch_put(struct shared_epoch *shared, unsigned entry)
{
	shared->parts[entry].owners--;
	shared_epoch_sweep(shared, shared_epoch_newest_entry(shared));
}

uint64_t shared_epoch_began(const struct shared_epoch *shared, unsigned entry)
{
	return shared->parts[entry].began;
}

int shared_epoch_entry_of(struct shared_epoch *shared, uint64_t pass)
{
	const struct shared_epoch_pass *found = shared_epoch_find(shared, pass);

	return found != NULL ? (int)found->entry : -1;
}

unsigned shared_epoch_parts(const struct shared_epoch *shared)
{
	unsigned parts = 0;

	for (unsigned i = 0; i < SHARED_EPOCH_ENTRIES; i++)
		parts += shared->parts[i].live != 0;
	return parts;
}

/* ---- life ---- */

/* Positions that are kept. */
static uint64_t shared_epoch_room(const struct shared_epoch_config *config)
{
	uint64_t count = config->count, wanted = 2 * count + SHARED_EPOCH_AHEAD;

	return count * SHARED_EPOCH_PASSES < wanted ? count * SHARED_EPOCH_PASSES
						    : wanted;
}

struct shared_epoch *shared_epoch_open(const struct shared_epoch_config *config,
				       struct error *err)
{
	const struct sampler_config sampler = {.count = config->count,
					       .seed = config->seed,
					       .world = 1,
					       .in_order = config->in_order,
					       .blocks = config->blocks};
	struct shared_epoch *shared = calloc(1, sizeof(*shared));

	if (shared == NULL)
		goto no_memory;
	shared->sampler = sampler_open(&sampler, err);
	if (shared->sampler == NULL)
		goto fail;
	shared->plan.ops = &ops;
	shared->config = *config;
	shared->parts[0] =
		(struct shared_epoch_part){.live = 1, .length = config->count};
	shared->room = shared_epoch_room(config);
	shared->stream = calloc(shared->room, sizeof(*shared->stream));
	shared->part_of = calloc(config->count, sizeof(*shared->part_of));
	if (shared->stream != NULL && shared->part_of != NULL)
		return shared;

no_memory:
	error_sys(err, ENOMEM, "cannot shuffle %u samples", config->count);
fail:
	shared_epoch_close(shared);
	return NULL;
}

struct plan *shared_epoch_plan(struct shared_epoch *shared)
{
	return &shared->plan;
}

void shared_epoch_close(struct shared_epoch *shared)
{
	if (shared == NULL)
		return;
	free(shared->stream);
	sampler_close(shared->sampler);
	free(shared->part_of);
	free(shared);
}
