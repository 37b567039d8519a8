/*
 * merge.h - neighbours that the plan wants soon come with one read. Private to
 * loader/pipeline/.
 *
 *	the plan	| .  X  .  .  b | .  a  .  .  c  . |	X is to be read, and a, b
 *			  open batches    not open yet		and c are of its run:
 *	the object	[ a ][ b ]  [ X ][ c ]			one read
 *
 * Whoever has a place gets its bytes when they come; the others are held until their places
 * open. What is read together follows from the plan and from what is in memory, not from the
 * speed of threads, so that reads can be counted: each pass has its own.
 *
 * All with the pipeline's lock held.
 */
#ifndef DSA_PIPELINE_MERGE_H
#define DSA_PIPELINE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct blob;
struct error;
struct fetch_job;
struct merge;
struct pipeline;
struct place;

/* Sets pipeline->merge; NULL stays where nothing can be merged: the order has no runs,
 * samples are whole files, or prefetch_bytes is less than twice merge_room(). 0 or
 * -errno. */
int merge_open(struct pipeline *pipeline, struct error *err);
void merge_close(struct pipeline *pipeline);

/* Bytes of prefetch_bytes that are kept for what comes ahead: a window of runs, and a
 * read. */
uint64_t merge_room(const struct pipeline *pipeline);

/*
 * A batch of this pass opens: lets go of what came ahead for passes before it and was not
 * taken, as the cache had it by then, or the pass was cut short. What is still on its way is
 * let go with the next pass.
 */
void merge_pass(struct pipeline *pipeline, uint64_t pass);

/* What came ahead for a place that opens, with its reference; NULL: nothing. */
struct blob *merge_take(struct pipeline *pipeline, const struct batch *batch,
			struct place *place);

/* True if the place's sample is on its way: the place will be given its bytes. */
bool merge_join(struct pipeline *pipeline, const struct batch *batch,
		struct place *place);

/* Adds to a place's job what is to be read with it. */
void merge_add(struct pipeline *pipeline, struct batch *batch,
	       const struct place *place, struct fetch_job *job);

/* Samples of the stream from its next one on that a stream turn would hold by now. */
uint32_t merge_ahead(struct pipeline *pipeline);

/* Between turns: the job that reads and holds a sample of these, with what is read
 * together with it. False: it is held, or on its way. */
bool merge_hold(struct pipeline *pipeline, uint32_t sample, struct fetch_job *job);

/*
 * A sample of a merged job came, or could not be read. True if a place waits for it, whose
 * tag *tag then is; else the blob, which may be NULL, passes to whoever holds it.
 */
bool merge_came(struct pipeline *pipeline, const struct fetch_job *job,
		struct blob *blob, uint64_t *tag);

/* Places are no more: what is on its way for them is held when it comes. */
void merge_rewind(struct pipeline *pipeline);

/* Lets go of all that is held; nothing is on its way. */
void merge_forget(struct pipeline *pipeline);

#endif
