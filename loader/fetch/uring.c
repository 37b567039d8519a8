/*
 * uring.c - the engine with one thread: io_uring carries all reads in flight.
 *
 * Each sample is one chain, submitted whole:
 *
 *	openat (into the slot's fixed file) -> read -> [fadvise] -> close
 *	a shard that stays open:	       read -> [fadvise]
 *
 * A failed open cuts the chain and completes alone. Otherwise the read completes with
 * what it got, which may be short, and what ends the chain completes last; a close frees
 * the fixed file. Of samples that lie together each IOV_MAX parts are a read, one linked
 * to the other. Whatever is not exactly as the source says is read again by
 * reader_read(), which knows about grown and shrunk files, refused flags and the right
 * errno.
 */
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/fetch/engine.h"
#include "loader/fetch/reader_files.h"
#include "loader/fetch/uring_ring.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	READS = 16, /* of one slot, linked, at the most; of more samples is read here */
	MEMBERS = READS * IOV_MAX / 2,
	CHAIN = READS + 3, /* submissions of one slot at the most; mostly 4 */
	ENTRIES = 4 * LIMIT_FETCH_DEPTH,
	/* The low bits of a completion's user_data, below the slot and its turn. */
	OPEN = 0,
	READ,
	LAST_READ, /* ends the chain */
	DROP,
	LAST, /* another one that does */
	EVENT,
	OP_BITS = 3,
	SLOT_BITS = 8,
};

struct slot {
	struct fetch_place place;
	struct blob *blob;
	struct reader_span span;
	uint32_t turn; /* of this slot: marks completions of an earlier use as late */
	int got;       /* by the reads: bytes or -errno */
	char path[PATH_MAX];
};

struct loop {
	struct fetch *fetch;
	pthread_t thread;
	struct io_uring ring;
	int event;        /* wakes the ring */
	uint64_t events;  /* where its count is read to */
	atomic_bool idle; /* there are free slots and no work: a kick must wake us */
	bool over, more;  /* no more work ever; there may be more work right now */
	unsigned busy;    /* slots in flight or held back */
	unsigned holding;
	struct slot *free[LIMIT_FETCH_DEPTH]; /* slots, from [busy] on */
	struct slot *held[LIMIT_FETCH_DEPTH]; /* the first `holding` by due */
	struct slot slot[LIMIT_FETCH_DEPTH];
};

/* Marks what a prep function has just written. */
static void uring_mark(const struct loop *loop, const struct slot *slot,
		       struct io_uring_sqe *sqe, int op, unsigned flags)
{
	uint64_t index = (uint64_t)(slot - loop->slot);

	sqe->user_data = (uint64_t)slot->turn << (SLOT_BITS + OP_BITS) |
			 index << OP_BITS | (uint64_t)op;
	sqe->flags |= (uint8_t)flags;
}

/* What a slot's reads are of. */
struct uring_file {
	int file; /* a descriptor, or the slot's fixed file: */
	unsigned flags;
};

static void uring_mark_read(const struct loop *loop, const struct slot *slot,
			    struct io_uring_sqe *sqe, struct uring_file of, bool last)
{
	if (last)
		uring_mark(loop, slot, sqe, LAST_READ, of.flags);
	else
		uring_mark(loop, slot, sqe, READ, of.flags | IOSQE_IO_HARDLINK);
}

/* Their vecs may be more than a call takes. */
static void submit_parts(struct loop *loop, const struct slot *slot,
			 struct uring_file of, bool last)
{
	const struct reader_parts *parts = slot->place.parts;
	uint64_t from = parts->from;
	unsigned vecs;

	for (unsigned at = 0; at < parts->vecs; at += vecs) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);
		size_t bytes = 0;

		vecs = reader_parts_chunk(parts, at, &bytes);
		io_uring_prep_readv(sqe, of.file, parts->vec + at, vecs, from);
		uring_mark_read(loop, slot, sqe, of, last && at + vecs == parts->vecs);
		from += bytes;
	}
}

static struct uring_file submit_open(struct loop *loop, struct slot *slot,
				     const struct source_place *place)
{
	const struct reader *reader = &loop->fetch->reader;
	struct uring_file of = {reader_files_get(reader->files, place), 0};
	struct io_uring_sqe *sqe;

	if (of.file >= 0)
		return of;
	of.file = (int)(slot - loop->slot);
	of.flags = IOSQE_FIXED_FILE;
	sqe = io_uring_get_sqe(&loop->ring);
	io_uring_prep_openat_direct(sqe, place->dir, place->path,
				    reader_ring_flags(reader), 0, (unsigned)of.file);
	uring_mark(loop, slot, sqe, OPEN, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
	slot->place.job.calls.opens += !place->part;
	return of;
}

static void submit_read(struct loop *loop, const struct slot *slot,
			struct uring_file of, bool last)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);

	io_uring_prep_read(sqe, of.file, slot->blob->data, (unsigned)slot->blob->size,
			   (uint64_t)slot->span.from);
	uring_mark_read(loop, slot, sqe, of, last);
}

static void submit_drop(struct loop *loop, const struct slot *slot,
			const struct source_place *place, struct uring_file of,
			bool last)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);
	off_t from, length;

	reader_pages(place, &from, &length);
	io_uring_prep_fadvise(sqe, of.file, (uint64_t)from, length,
			      POSIX_FADV_DONTNEED);
	if (last)
		uring_mark(loop, slot, sqe, LAST, of.flags);
	else
		uring_mark(loop, slot, sqe, DROP,
			   of.flags | IOSQE_IO_HARDLINK | IOSQE_CQE_SKIP_SUCCESS);
}

static void submit_close(struct loop *loop, const struct slot *slot,
			 struct uring_file of)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);

	io_uring_prep_close_direct(sqe, (unsigned)of.file);
	uring_mark(loop, slot, sqe, LAST, 0);
}

static void submit_chain(struct loop *loop, struct slot *slot,
			 const struct source_place *place)
{
	bool drops = loop->fetch->reader.mode == READER_DROP, closes;
	struct uring_file of;

	if (io_uring_sq_space_left(&loop->ring) < CHAIN)
		io_uring_submit(&loop->ring);
	of = submit_open(loop, slot, place);
	closes = (of.flags & IOSQE_FIXED_FILE) != 0;
	if (slot->place.parts != NULL)
		submit_parts(loop, slot, of, !drops && !closes);
	else
		submit_read(loop, slot, of, !drops && !closes);
	if (drops)
		submit_drop(loop, slot, place, of, !closes);
	if (closes)
		submit_close(loop, slot, of);
	slot->got = 0;
}

static void submit_event(struct loop *loop)
{
	struct io_uring_sqe *sqe;

	if (io_uring_sq_space_left(&loop->ring) < 1)
		io_uring_submit(&loop->ring);
	sqe = io_uring_get_sqe(&loop->ring);
	io_uring_prep_read(sqe, loop->event, &loop->events, sizeof(loop->events), 0);
	sqe->user_data = EVENT;
}

static void uring_hand_on(struct loop *loop, struct slot *slot, int result)
{
	struct blob *blob = slot->blob;

	slot->blob = NULL;
	slot->turn++;
	fetch_done(loop->fetch, &slot->place, blob, result);
	loop->free[--loop->busy] = slot;
}

static void uring_hold_back(struct loop *loop, struct slot *slot)
{
	unsigned i = loop->holding++;

	for (; i > 0 && loop->held[i - 1]->place.due > slot->place.due; i--)
		loop->held[i] = loop->held[i - 1];
	loop->held[i] = slot;
}

/* Hands on what need not be held back any more. */
static void uring_let_go(struct loop *loop)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < loop->holding; i++) {
		if (fetch_held(loop->fetch, &loop->held[i]->place))
			loop->held[kept++] = loop->held[i];
		else
			uring_hand_on(loop, loop->held[i], 0);
	}
	loop->holding = kept;
}

static void uring_complete(struct loop *loop, struct slot *slot, int result)
{
	fetch_due(loop->fetch, &slot->place, slot->blob);
	if (fetch_held(loop->fetch, &slot->place))
		uring_hold_back(loop, slot);
	else
		uring_hand_on(loop, slot, result);
}

/* Reads in this thread: samples in memory, and all that is out of the ordinary. */
static void read_here(struct loop *loop, struct slot *slot)
{
	int rc = reader_read(&loop->fetch->reader, &slot->place.job, &slot->blob,
			     &slot->place.parts);

	uring_complete(loop, slot, rc);
}

/* Room for what the slot reads; false: no memory. */
static bool uring_room(struct slot *slot, const struct reader *reader,
		       const struct source_place *place)
{
	if (reader_scatters(reader, &slot->place.job)) {
		slot->place.parts = reader_parts_new(reader, &slot->place.job);
		return slot->place.parts != NULL;
	}
	reader_span(reader, place, &slot->span);
	slot->blob = reader_room(reader, &slot->span);
	return slot->blob != NULL;
}

static void uring_start(struct loop *loop, struct slot *slot)
{
	const struct reader *reader = &loop->fetch->reader;
	struct source_place place;

	reader_place(reader, &slot->place.job, slot->path, &place);
	if (place.memory != NULL || reader_check(&place) < 0 ||
	    slot->place.job.count > MEMBERS) {
		read_here(loop, slot);
		return;
	}
	if (!uring_room(slot, reader, &place))
		uring_complete(loop, slot, -ENOMEM);
	else
		submit_chain(loop, slot, &place);
}

/*
 * Fills the free slots. Only with none busy does it wait for the client, since its
 * reads in flight and held back need the thread.
 */
static void uring_fill(struct loop *loop)
{
	const atomic_uint *depth = &loop->fetch->depth; /* may fall meanwhile */

	loop->more = true;
	for (unsigned n = *depth; n > 0 && loop->more && loop->busy < *depth; n--) {
		struct slot *slot = loop->free[loop->busy];
		bool wait = loop->busy == 0;

		loop->idle = true; /* before the client is asked: see uring_kick() */
		loop->more = fetch_take(loop->fetch, wait, &slot->place);
		if (loop->more) {
			loop->busy++;
			uring_start(loop, slot);
		} else {
			loop->over = wait;
		}
	}
	loop->idle = !loop->more;
}

static void finish_read(struct loop *loop, struct slot *slot)
{
	const struct reader_span *span = &slot->span;
	struct reader_parts *parts = slot->place.parts;
	size_t got = slot->got > 0 ? (size_t)slot->got : 0;

	if (parts != NULL ? got == parts->bytes
			  : got > 0 && reader_complete(span, got)) {
		if (parts == NULL)
			blob_cut(slot->blob, span->skip, span->size);
		uring_complete(loop, slot, 0);
		return;
	}
	reader_parts_free(parts);
	slot->place.parts = NULL;
	blob_put(slot->blob);
	slot->blob = NULL;
	read_here(loop, slot);
}

static void reap_one(struct loop *loop, const struct io_uring_cqe *cqe)
{
	unsigned op = cqe->user_data & ((1u << OP_BITS) - 1);
	struct slot *slot =
		&loop->slot[cqe->user_data >> OP_BITS & ((1u << SLOT_BITS) - 1)];

	if (op == EVENT) {
		submit_event(loop);
		return;
	}
	if (slot->turn != (uint32_t)(cqe->user_data >> (OP_BITS + SLOT_BITS)))
		return;
	if (op == READ || op == LAST_READ) {
		if (slot->got >= 0)
			slot->got = cqe->res < 0 ? cqe->res : slot->got + cqe->res;
		slot->place.job.calls.reads++;
		slot->place.job.calls.bytes += cqe->res > 0 ? (unsigned)cqe->res : 0;
	}
	if (op == OPEN)
		slot->got = cqe->res;
	if (op == OPEN || op == LAST_READ || op == LAST)
		finish_read(loop, slot);
}

static void uring_reap(struct loop *loop)
{
	struct io_uring_cqe *cqe;
	unsigned head, count = 0;

	io_uring_for_each_cqe(&loop->ring, head, cqe)
	{
		reap_one(loop, cqe);
		count++;
	}
	io_uring_cq_advance(&loop->ring, count);
}

/* Submits, and sleeps until something completes or the first held read is due. */
static void submit_and_wait(struct loop *loop)
{
	struct __kernel_timespec left = {0};
	struct io_uring_cqe *cqe;
	bool timed = loop->holding > 0;

	if (loop->busy == 0 || (loop->more && loop->busy < loop->fetch->depth)) {
		io_uring_submit(&loop->ring);
		return;
	}
	if (timed) {
		uint64_t due = loop->held[0]->place.due, now = clock_now();
		uint64_t ns = due > now ? due - now : 0;

		left.tv_sec = (long long)(ns / 1000000000u);
		left.tv_nsec = (long long)(ns % 1000000000u);
	}
	io_uring_submit_and_wait_timeout(&loop->ring, &cqe, 1, timed ? &left : NULL,
					 NULL);
}

static void *uring_run(void *arg)
{
	struct loop *loop = arg;

	fetch_thread_started(loop->fetch);
	ring_enable(&loop->ring);
	submit_event(loop);
	while (!loop->over) {
		uring_fill(loop);
		fetch_drained(loop->fetch);
		submit_and_wait(loop);
		uring_reap(loop);
		uring_let_go(loop);
	}
	return NULL;
}

static void uring_wake(struct loop *loop)
{
	eventfd_write(loop->event, 1);
}

/* Waking costs, so only when the thread has said that it sleeps for want of work. */
static void uring_kick(struct fetch *fetch)
{
	struct loop *loop = fetch->state;

	if (loop->idle && atomic_exchange(&loop->idle, false))
		uring_wake(loop);
}

static void uring_flush(struct fetch *fetch)
{
	uring_wake(fetch->state);
}

static int uring_set_depth(struct fetch *fetch)
{
	uring_wake(fetch->state);
	return 0;
}

static int uring_open(struct fetch *fetch, struct error *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (loop == NULL)
		return error_sys(err, ENOMEM, "cannot open the uring engine");
	loop->fetch = fetch;
	for (unsigned i = 0; i < LIMIT_FETCH_DEPTH; i++)
		loop->free[i] = &loop->slot[i];
	rc = ring_init(&loop->ring, ENTRIES, LIMIT_FETCH_DEPTH, err);
	if (rc < 0)
		goto no_ring;
	loop->event = eventfd(0, EFD_CLOEXEC);
	if (loop->event < 0) {
		rc = error_sys(err, errno, "cannot open the uring engine");
		goto no_event;
	}
	fetch->state = loop;
	rc = -thread_start(&loop->thread, uring_run, loop);
	if (rc == 0)
		return 0;
	error_sys(err, -rc, "cannot start the fetch thread");
	close(loop->event);
no_event:
	io_uring_queue_exit(&loop->ring);
no_ring:
	free(loop);
	return rc;
}

static void uring_close(struct fetch *fetch)
{
	struct loop *loop = fetch->state;

	uring_wake(loop);
	pthread_join(loop->thread, NULL);
	io_uring_queue_exit(&loop->ring);
	close(loop->event);
	free(loop);
}

static uint64_t uring_cpu_ns(const struct fetch *fetch)
{
	const struct loop *loop = fetch->state;

	return clock_cpu_of(loop->thread);
}

#define LOOP                                                                           \
	.open = uring_open, .close = uring_close, .set_depth = uring_set_depth,        \
	.kick = uring_kick, .flush = uring_flush, .cpu_ns = uring_cpu_ns

const struct fetch_engine fetch_uring = {.name = "uring", LOOP};
const struct fetch_engine fetch_uring_direct = {
	.name = "uring-direct", .direct = true, LOOP};
