/* counts.c - what samples took, by the batch that they are delivered in. */
#include "loader/base/trace.h"
#include "loader/pipeline/pipeline_state.h"

static void add_place(struct pipeline_counts *sum, const struct place *place)
{
	sum->opens += place->calls.opens;
	sum->reads += place->calls.reads;
	sum->read_bytes += place->calls.bytes;
	sum->hits += place->hit;
	sum->pixels += place->pixels;
}

static void counts_add(struct pipeline_counts *sum, const struct pipeline_counts *more)
{
	sum->opens += more->opens;
	sum->reads += more->reads;
	sum->read_bytes += more->read_bytes;
	sum->hits += more->hits;
	sum->pixels += more->pixels;
	sum->skipped += more->skipped;
	sum->lost += more->lost;
}

/*
 * Only the first time counts that a sample could not be used: whether it is read again
 * before that is known depends on the threads' timing.
 */
void counts_unused(struct pipeline *p, struct batch *head, struct place *hole)
{
	uint64_t *word = &p->skipped[hole->sample / 64];
	uint64_t bit = UINT64_C(1) << (hole->sample % 64);

	if (!hole->failed || !p->turn.ops->counted)
		return;
	hole->failed = false;
	head->unused.lost += stream_unread(p, hole->sample);
	if ((*word & bit) != 0)
		return;
	*word |= bit;
	add_place(&head->unused, hole);
	head->unused.skipped++;
}

static void add_batch(struct pipeline_counts *sum, const struct batch *batch)
{
	counts_add(sum, &batch->unused);
	for (uint32_t i = 0; i < batch->count; i++)
		if (batch->places[i].state == PLACE_DONE)
			add_place(sum, &batch->places[i]);
}

void counts_discarded(struct pipeline *p, const struct batch *batch)
{
	if (p->turn.ops->counted)
		add_batch(&p->carried, batch);
}

void counts_published(struct pipeline *p, struct batch *batch)
{
	counts_add(&batch->unused, &p->carried);
	p->carried = (struct pipeline_counts){0};
}

void counts_delivered(struct pipeline *p, const struct batch *batch)
{
	struct trace_process *process = p->parts.process;
	struct pipeline_counts sum = {0};

	if (!p->turn.ops->counted)
		return;
	add_batch(&sum, batch);
	trace_add(process, TRACE_counted_opens, sum.opens);
	trace_add(process, TRACE_counted_reads, sum.reads);
	trace_add(process, TRACE_counted_read_bytes, sum.read_bytes);
	trace_add(process, TRACE_counted_hits, sum.hits);
	trace_add(process, TRACE_counted_pixels, sum.pixels);
	trace_add(process, TRACE_counted_skipped, sum.skipped);
	trace_add(process, TRACE_counted_device_bytes,
		  (batch->count - batch->holes) * p->parts.device_bytes);
}
