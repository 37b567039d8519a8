/* joader.c - draws the next sample for jobs whose data sets overlap. */
#include "loader/share/schedule/joader.h"
#include "loader/base/error.h"
#include "loader/base/random.h"
#include "loader/ring.h"

#include <errno.h>
#include <stdlib.h>

/* A pass is asked for while batches of it are open or delivered last, and a batch never
 * crosses a pass's end: so many may be asked for at once, and the next. */
enum { PASSES = RING_SLOTS + 4, CELLS = 1 << JOADER_JOBS };

struct job {
	bool there;
	uint32_t slot;
	unsigned set;
	uint32_t left; /* samples of its epoch still to come */
};

struct pick {
	uint32_t sample;
	uint64_t slots;
};

struct pass {
	uint64_t first;
	uint32_t length;
	struct pick picks[JOADER_STEPS * JOADER_JOBS];
};

struct joader {
	struct plan plan;
	struct joader_config config;
	struct random random;
	struct job jobs[JOADER_JOBS];

	/* Samples by cell: cell c has order[start[c]] .. order[start[c + 1] - 1]. */
	uint32_t *order;
	uint8_t *wanted; /* of each sample: the jobs that still want it, its cell */
	uint32_t start[CELLS + 1];
	uint8_t walk[CELLS]; /* cells, those of most jobs first */

	uint64_t passes;   /* drawn so far; the last PASSES of them are kept */
	struct pass *pass; /* number l at l % PASSES */
};

static uint32_t joader_cell_size(const struct joader *joader, unsigned cell)
{
	return joader->start[cell + 1] - joader->start[cell];
}

/* Sorts the samples into their cells. */
static void joader_sort(struct joader *joader)
{
	uint32_t next[CELLS] = {0};

	for (uint32_t i = 0; i < joader->config.count; i++)
		next[joader->wanted[i]]++;
	for (uint32_t cell = 0, at = 0; cell < CELLS; cell++) {
		uint32_t size = next[cell];

		joader->start[cell] = next[cell] = at;
		at += size;
	}
	joader->start[CELLS] = joader->config.count;
	for (uint32_t i = 0; i < joader->config.count; i++)
		joader->order[next[joader->wanted[i]]++] = i;
}

/* Moves order[at] down to the cell `to`, one cell's edge after another. */
static void joader_move(struct joader *joader, uint32_t at, unsigned to)
{
	uint32_t sample = joader->order[at];

	for (unsigned cell = joader->wanted[sample]; cell > to; cell--) {
		uint32_t edge = joader->start[cell]++;

		joader->order[at] = joader->order[edge];
		joader->order[edge] = sample;
		at = edge;
	}
	joader->wanted[sample] = (uint8_t)to;
}

static bool joader_in_set(const struct joader *joader, uint32_t sample, unsigned set)
{
	return (joader->config.sets[sample] >> set & 1) != 0;
}

/* The job wants all of its data set, or (want false) nothing any more. */
static void joader_want(struct joader *joader, unsigned job, bool want)
{
	uint8_t bit = (uint8_t)(1u << job);
	uint32_t left = 0;

	for (uint32_t i = 0; i < joader->config.count; i++) {
		joader->wanted[i] &= (uint8_t)~bit;
		if (want && joader_in_set(joader, i, joader->jobs[job].set)) {
			joader->wanted[i] |= bit;
			left++;
		}
	}
	joader->jobs[job].left = left;
	joader_sort(joader);
}

/* The cell in which u (0 <= u < 1) falls for a job. */
static unsigned joader_find_cell(const struct joader *joader, unsigned job, double u)
{
	uint32_t at = (uint32_t)(u * joader->jobs[job].left);
	unsigned cell = 0;

	for (unsigned i = 0; i < CELLS; i++) {
		uint32_t size = joader_cell_size(joader, joader->walk[i]);

		if ((joader->walk[i] >> job & 1) == 0 || size == 0)
			continue;
		cell = joader->walk[i];
		if (at < size)
			break;
		at -= size;
	}
	return cell;
}

/* One sample of the cell for all jobs in `takers`. */
static void joader_pick(struct joader *joader, struct pass *pass, unsigned cell,
			unsigned takers)
{
	uint32_t at = joader->start[cell] +
		      random_below(&joader->random, joader_cell_size(joader, cell));
	struct pick *pick = &pass->picks[pass->length++];

	*pick = (struct pick){.sample = joader->order[at]};
	for (unsigned job = 0; job < JOADER_JOBS; job++) {
		if ((takers >> job & 1) == 0)
			continue;
		pick->slots |= UINT64_C(1) << joader->jobs[job].slot;
		joader->jobs[job].left--;
	}
	joader_move(joader, at, cell & ~takers);
}

/* A sample for every job that is there. Cells of few jobs come first: what is taken
 * goes to a cell of fewer, and who has drawn that cell must not find it there. */
static void joader_step(struct joader *joader, struct pass *pass)
{
	uint8_t takers[CELLS] = {0};
	double u;

	for (unsigned job = 0; job < JOADER_JOBS; job++)
		if (joader->jobs[job].there && joader->jobs[job].left == 0)
			joader_want(joader, job, true);
	u = random_unit(&joader->random);
	for (unsigned job = 0; job < JOADER_JOBS; job++)
		if (joader->jobs[job].there)
			takers[joader_find_cell(joader, job, u)] |=
				(uint8_t)(1u << job);
	for (unsigned i = CELLS; i-- > 0;)
		if (takers[joader->walk[i]] != 0)
			joader_pick(joader, pass, joader->walk[i],
				    takers[joader->walk[i]]);
}

static void joader_draw_pass(struct joader *joader)
{
	struct pass *pass = &joader->pass[joader->passes % PASSES];
	const struct pass *before =
		&joader->pass[(joader->passes + PASSES - 1) % PASSES];

	pass->first = joader->passes == 0 ? 0 : before->first + before->length;
	pass->length = 0;
	for (unsigned i = 0; i < JOADER_STEPS; i++)
		joader_step(joader, pass);
	if (pass->length == 0) /* nobody is there: a place for nobody */
		pass->picks[pass->length++] = (struct pick){0};
	joader->passes++;
}

static void joader_pass(struct plan *plan, uint64_t number, struct plan_pass *out)
{
	struct joader *joader = (struct joader *)plan;
	const struct pass *pass = &joader->pass[number % PASSES];

	while (joader->passes <= number)
		joader_draw_pass(joader);
	*out = (struct plan_pass){
		.first = pass->first, .length = pass->length, .epoch = number};
}

static const struct pick *joader_picked(struct plan *plan, uint64_t pass,
					uint32_t position)
{
	const struct joader *joader = (struct joader *)plan;

	return &joader->pass[pass % PASSES].picks[position];
}

static uint32_t joader_sample(struct plan *plan, uint64_t pass, uint32_t position)
{
	return joader_picked(plan, pass, position)->sample;
}

static uint64_t joader_readers(struct plan *plan, uint64_t pass, uint32_t position)
{
	return joader_picked(plan, pass, position)->slots;
}

static const struct plan_ops ops = {
	.pass = joader_pass,
	.sample = joader_sample,
	.readers = joader_readers,
};

struct plan *joader_plan(struct joader *joader)
{
	return &joader->plan;
}

static void joader_order_cells(struct joader *joader)
{
	unsigned at = 0;

	for (int bits = JOADER_JOBS; bits >= 0; bits--)
		for (unsigned cell = 0; cell < CELLS; cell++)
			if (__builtin_popcount(cell) == bits)
				joader->walk[at++] = (uint8_t)cell;
}

struct joader *joader_open(const struct joader_config *config, struct error *err)
{
	struct joader *joader = calloc(1, sizeof(*joader));

	if (joader == NULL)
		goto no_memory;
	joader->plan.ops = &ops;
	joader->config = *config;
	joader->random.state = config->seed;
	joader->order = calloc(config->count, sizeof(*joader->order));
	joader->wanted = calloc(config->count, sizeof(*joader->wanted));
	joader->pass = calloc(PASSES, sizeof(*joader->pass));
	if (joader->order == NULL || joader->wanted == NULL || joader->pass == NULL)
		goto no_memory;
	joader_order_cells(joader);
	joader_sort(joader);
	return joader;
no_memory:
	error_sys(err, ENOMEM, "cannot draw from %u samples", config->count);
	joader_close(joader);
	return NULL;
}

void joader_close(struct joader *joader)
{
	if (joader == NULL)
		return;
	free(joader->order);
	free(joader->wanted);
	free(joader->pass);
	free(joader);
}

int64_t joader_join(struct joader *joader, uint32_t slot, unsigned set)
{
	for (unsigned i = 0; i < JOADER_JOBS; i++) {
		struct job *job = &joader->jobs[i];

		if (job->there)
			continue;
		*job = (struct job){.there = true, .slot = slot, .set = set};
		joader_want(joader, i, true);
		job->there = job->left > 0;
		return job->left;
	}
	return -EBUSY;
}

unsigned joader_jobs(const struct joader *joader)
{
	unsigned jobs = 0;

	for (unsigned i = 0; i < JOADER_JOBS; i++)
		jobs += joader->jobs[i].there;
	return jobs;
}

void joader_leave(struct joader *joader, uint32_t slot)
{
	uint64_t bit = UINT64_C(1) << slot;

	for (unsigned i = 0; i < JOADER_JOBS; i++) {
		if (!joader->jobs[i].there || joader->jobs[i].slot != slot)
			continue;
		joader->jobs[i].there = false;
		joader_want(joader, i, false);
	}
	for (unsigned i = 0; i < PASSES; i++)
		for (uint32_t j = 0; j < joader->pass[i].length; j++)
			joader->pass[i].picks[j].slots &= ~bit;
}
