/* counts.c - what the samples of a batch took, by the batch they are delivered in. */
#include "loader/base/trace.h"
#include "loader/pipeline/pipeline_state.h"

static void add_place(struct pipeline_counts *tally, const struct place *place)
{
	tally->opens += place->calls.opens;
	tally->reads += place->calls.reads;
	tally->read_bytes += place->calls.bytes;
	tally->hits += place->hit;
	tally->pixels += place->pixels;
}

static void counts_add(struct pipeline_counts *tally,
		       const struct pipeline_counts *more)
{
	tally->opens += more->opens;
	tally->reads += more->reads;
	tally->read_bytes += more->read_bytes;
	tally->hits += more->hits;
	tally->pixels += more->pixels;
	tally->skipped += more->skipped;
}

/*
 * A sample that can't be used may be in the stream again before that is found out, and
 * then it is a matter of luck whether it is tried again: so only its first time counts.
 */
void counts_vain(struct pipeline *p, struct batch *head, struct place *hole)
{
	uint64_t *word = &p->skipped[hole->sample / 64];
	uint64_t bit = UINT64_C(1) << (hole->sample % 64);

	if (!hole->failed || !p->turn.ops->counted)
		return;
	hole->failed = false;
	if ((*word & bit) != 0)
		return;
	*word |= bit;
	add_place(&head->vain, hole);
	head->vain.skipped++;
}

static void add_batch(struct pipeline_counts *tally, const struct batch *batch)
{
	counts_add(tally, &batch->vain);
	for (uint32_t i = 0; i < batch->count; i++)
		if (batch->places[i].state == PLACE_DONE)
			add_place(tally, &batch->places[i]);
}

void counts_discarded(struct pipeline *p, const struct batch *batch)
{
	if (p->turn.ops->counted)
		add_batch(&p->owed, batch);
}

void counts_published(struct pipeline *p, struct batch *batch)
{
	counts_add(&batch->vain, &p->owed);
	p->owed = (struct pipeline_counts){0};
}

void counts_delivered(struct pipeline *p, const struct batch *batch)
{
	struct trace_process *process = p->parts.process;
	struct pipeline_counts tally = {0};

	if (!p->turn.ops->counted)
		return;
	add_batch(&tally, batch);
	trace_add(process, TRACE_counted_opens, tally.opens);
	trace_add(process, TRACE_counted_reads, tally.reads);
	trace_add(process, TRACE_counted_read_bytes, tally.read_bytes);
	trace_add(process, TRACE_counted_hits, tally.hits);
	trace_add(process, TRACE_counted_pixels, tally.pixels);
	trace_add(process, TRACE_counted_skipped, tally.skipped);
}
