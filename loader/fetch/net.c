/*
 * net.c - the engine of buckets and web servers: one thread, all requests in flight.
 *
 * Each sample, or run of neighbours, is one GET, whose body goes into a blob. A request
 * that rests before it is sent again keeps its place of the depth. With hedge one that is
 * late has a second one beside it, in the same place: the first answer that is a success
 * counts, and the other request is given up. What is no object, as where data sets of both
 * kinds are read as one, is read in this thread.
 */
#include "loader/net.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/fetch/engine.h"
#include "loader/fetch/hedge.h"
#include "loader/fetch/net_servers.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define LONGEST_WAIT UINT64_C(1000000000)

struct net_slot {
	struct net_get get; /* first: net_slot_done() gets it */
	struct net_fetch *own;
	struct fetch_place place;
	struct blob *blob;
	struct net_get second; /* beside a late one */
	struct blob *second_blob;
	uint64_t asked; /* when the first one was; clock_now(); 0: none is under way */
	uint64_t late;  /* after so long the second one was, too; 0: not */
	bool failed;    /* the first one has: the second one decides */
	bool held;      /* complete, and held back by the throttle */
	char path[PATH_MAX];
};

struct net_fetch {
	struct fetch *fetch;
	pthread_t thread;
	struct net *net;
	struct net_servers servers;
	atomic_bool closing;
	atomic_bool idle; /* there are free slots and no work: a kick must wake us */
	bool over, more;  /* no more work ever; there may be more work right now */
	unsigned busy, holding;
	struct hedge hedge;
	struct net_slot *free[LIMIT_FETCH_DEPTH]; /* slots, from [busy] on */
	struct net_slot slot[LIMIT_FETCH_DEPTH];
};

static void net_slot_hand_on(struct net_slot *slot, int result)
{
	struct net_fetch *own = slot->own;
	struct blob *blob = slot->blob;

	slot->blob = NULL;
	fetch_done(own->fetch, &slot->place, blob, result);
	slot->place.job.why = NULL;
	own->free[--own->busy] = slot;
}

static void net_slot_complete(struct net_slot *slot, int result)
{
	struct net_fetch *own = slot->own;

	fetch_due(own->fetch, &slot->place, slot->blob);
	slot->held = fetch_held(own->fetch, &slot->place);
	own->holding += slot->held;
	if (!slot->held)
		net_slot_hand_on(slot, result);
}

static void net_slot_fail(struct net_slot *slot, int result)
{
	const struct source *source = slot->own->fetch->reader.source;

	if ((result == -ENOENT || result == -ESTALE) &&
	    source_outdated(source, slot->place.job.sample)) {
		const struct error cause = slot->get.error;

		error_set(&slot->get.error, -result,
			  "%.160s; the next run lists the data set anew",
			  cause.message);
	}
	blob_put(slot->blob);
	slot->blob = NULL;
	slot->place.job.why = slot->get.error.message;
	net_slot_complete(slot, result);
}

/* What its request brings. */
static uint32_t net_slot_samples(const struct net_slot *slot)
{
	const struct fetch_job *job = &slot->place.job;

	return job->members != NULL ? job->count : 1;
}

/* Samples of requests to a server that have not ended. */
static uint32_t net_fetch_out(const struct net_fetch *own,
			      const struct net_remote *remote)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < LIMIT_FETCH_DEPTH; i++)
		if (own->slot[i].asked > 0 && own->slot[i].get.remote == remote)
			count += net_slot_samples(&own->slot[i]);
	return count;
}

static int net_slot_judge(struct net_slot *slot, int result)
{
	struct net_fetch *own = slot->own;
	struct net_ending ending = {
		.remote = slot->get.remote,
		.began = slot->asked,
		.samples = net_slot_samples(slot),
		.result = result,
		.error = &slot->get.error,
	};

	slot->asked = 0;
	if (result < 0)
		ending.out = net_fetch_out(own, slot->get.remote);
	result = net_servers_judge(&own->servers, &ending);
	slot->place.job.lost = ending.lost;
	return result;
}

/* The second request, if there is one, is over or of no use any more. */
static void net_slot_drop_second(struct net_slot *slot)
{
	if (slot->second_blob == NULL)
		return;
	slot->place.job.calls.retries += slot->second.retries;
	slot->own->hedge.under_way--;
	blob_put(slot->second_blob);
	slot->second_blob = NULL;
}

static void net_slot_answered(struct net_slot *slot)
{
	struct hedge *hedge = &slot->own->hedge;

	if (slot->late > 0)
		hedge_answer(hedge, slot->late);
	else
		hedge_answer(hedge, clock_now() - slot->asked);
}

/* With what slot->get says. */
static void net_slot_end(struct net_slot *slot, int result)
{
	struct fetch_calls *calls = &slot->place.job.calls;
	struct net_get *get = &slot->get;

	calls->retries += get->retries;
	net_slot_drop_second(slot);
	net_slot_answered(slot);
	result = net_slot_judge(slot, result);
	if (result == 0 && get->got == 0)
		result = error_set(&get->error, EBADMSG, "the object is empty");
	if (result < 0) {
		net_slot_fail(slot, result);
		return;
	}
	calls->reads = 1;
	calls->bytes = get->got;
	blob_cut(slot->blob, 0, get->got);
	net_slot_complete(slot, 0);
}

static void net_slot_done(struct net_get *get, int result)
{
	struct net_slot *slot = (struct net_slot *)get;

	slot->failed = result < 0 && slot->second_blob != NULL;
	if (slot->failed)
		return;
	if (slot->second_blob != NULL)
		net_cancel(slot->own->net, &slot->second);
	net_slot_end(slot, result);
}

/* A success counts, and of two failures the last one. */
static void net_slot_second_done(struct net_get *get, int result)
{
	struct net_slot *slot = get->context;
	struct blob *blob = slot->blob;

	if (result < 0 && !slot->failed) {
		net_slot_drop_second(slot);
		return;
	}
	if (!slot->failed)
		net_cancel(slot->own->net, &slot->get);
	slot->blob = slot->second_blob;
	slot->second_blob = blob;
	slot->get.got = get->got;
	slot->get.error = get->error;
	net_slot_end(slot, result);
}

static void net_slot_hedge(struct net_slot *slot, uint64_t now)
{
	struct net_fetch *own = slot->own;

	slot->second_blob = blob_pool_take(own->fetch->reader.pool, slot->get.room);
	if (slot->second_blob == NULL)
		return;
	slot->late = now - slot->asked;
	slot->second = slot->get;
	slot->second.body = slot->second_blob->data;
	slot->second.context = slot;
	slot->second.done = net_slot_second_done;
	slot->place.job.calls.hedges = 1;
	own->hedge.hedged++;
	own->hedge.under_way++;
	net_start(own->net, &slot->second);
}

/* Asks a second time for what is late. Returns when the next one will be, or 0. */
static uint64_t net_fetch_hedge(struct net_fetch *own)
{
	uint64_t now = clock_now(), next = 0;

	for (unsigned i = 0; own->fetch->hedge && i < LIMIT_FETCH_DEPTH; i++) {
		struct net_slot *slot = &own->slot[i];
		uint64_t due = slot->asked + own->hedge.late_ns;

		if (!hedge_may(&own->hedge))
			break;
		if (slot->asked == 0 || slot->late > 0)
			continue;
		if (due <= now)
			net_slot_hedge(slot, now);
		else if (next == 0 || due < next)
			next = due;
	}
	return next;
}

/* In this thread: what is no object. */
static void net_slot_read(struct net_slot *slot)
{
	struct fetch_job *job = &slot->place.job;
	int result = reader_read(&slot->own->fetch->reader, job, &slot->blob,
				 &slot->place.parts);

	net_slot_complete(slot, result);
}

static void net_slot_start(struct net_slot *slot)
{
	const struct reader *reader = &slot->own->fetch->reader;
	struct source_place place;

	reader_place(reader, &slot->place.job, slot->path, &place);
	if (place.object == NULL) {
		net_slot_read(slot);
		return;
	}
	slot->get = (struct net_get){
		.remote = place.remote,
		.path = place.object,
		.etag = place.etag,
		.room = place.size,
		.from = place.offset,
		.part = place.part,
		.exact = true,
		.deadline = net_remote_deadline(place.remote),
		.done = net_slot_done,
	};
	if (place.part && place.size == 0) { /* there is no such range */
		net_slot_fail(slot,
			      error_set(&slot->get.error, EBADMSG, "it is empty"));
		return;
	}
	if (net_servers_gone(&slot->own->servers, place.remote)) {
		net_slot_fail(slot, error_set(&slot->get.error, EHOSTDOWN,
					      "the server is gone"));
		return;
	}
	if (place.size <= LIMIT_SAMPLE)
		slot->blob =
			blob_pool_take(reader->pool, place.size > 0 ? place.size : 1);
	if (slot->blob != NULL) {
		slot->get.body = slot->blob->data;
		slot->asked = clock_now();
		slot->late = 0;
		slot->failed = false;
		slot->own->hedge.requests++;
		slot->place.job.calls.opens = 1;
		net_start(slot->own->net, &slot->get);
	} else {
		net_slot_complete(slot, place.size > LIMIT_SAMPLE ? -EFBIG : -ENOMEM);
	}
}

/* Fills the free slots. Only with none busy does it wait for the client. */
static void net_fetch_fill(struct net_fetch *own)
{
	const atomic_uint *depth = &own->fetch->depth; /* may fall meanwhile */

	own->more = true;
	for (unsigned n = *depth; n > 0 && own->more && own->busy < *depth; n--) {
		struct net_slot *slot = own->free[own->busy];
		bool wait = own->busy == 0;

		own->idle = true; /* before the client is asked: see net_fetch_kick() */
		own->more = fetch_take(own->fetch, wait, &slot->place);
		if (own->more) {
			own->busy++;
			net_slot_start(slot);
		} else {
			own->over = wait;
		}
	}
	own->idle = !own->more;
}

/* Hands on what need not be held back any more; returns when the next one is due, or 0. */
static uint64_t net_fetch_let_go(struct net_fetch *own)
{
	uint64_t next = 0;

	for (unsigned i = 0; own->holding > 0 && i < LIMIT_FETCH_DEPTH; i++) {
		struct net_slot *slot = &own->slot[i];

		if (!slot->held)
			continue;
		if (fetch_held(own->fetch, &slot->place)) {
			if (next == 0 || slot->place.due < next)
				next = slot->place.due;
			continue;
		}
		slot->held = false;
		own->holding--;
		net_slot_hand_on(slot, slot->blob != NULL ? 0 : -EIO);
	}
	return next;
}

static void net_fetch_wait(struct net_fetch *own, uint64_t due)
{
	uint64_t now = clock_now(), most = LONGEST_WAIT;

	if (due > 0 && due < now + most)
		most = due > now ? due - now : 0;
	due = net_fetch_hedge(own);
	if (due > 0 && due < now + most)
		most = due > now ? due - now : 0;
	if (own->busy == 0 || (own->more && own->busy < own->fetch->depth))
		most = 0;
	fetch_drained(own->fetch);
	net_wait(own->net, most);
}

static void *net_fetch_run(void *arg)
{
	struct net_fetch *own = arg;

	fetch_thread_started(own->fetch);
	while (!own->over && !own->closing) {
		net_fetch_fill(own);
		net_fetch_wait(own, net_fetch_let_go(own));
		net_fetch_let_go(own);
	}
	return NULL;
}

static void net_fetch_kick(struct fetch *fetch)
{
	struct net_fetch *own = fetch->state;

	if (own->idle && atomic_exchange(&own->idle, false))
		net_wake(own->net);
}

static void net_fetch_flush(struct fetch *fetch)
{
	const struct net_fetch *own = fetch->state;

	net_wake(own->net);
}

static int net_fetch_set_depth(struct fetch *fetch)
{
	net_fetch_flush(fetch);
	return 0;
}

static int net_fetch_open(struct fetch *fetch, struct error *err)
{
	const struct net_config config = {.most = LIMIT_FETCH_DEPTH +
						  (fetch->hedge ? HEDGE_AT_ONCE : 0),
					  .seed = clock_now()};
	struct net_fetch *own = calloc(1, sizeof(*own));
	int result;

	if (own == NULL)
		return error_sys(err, ENOMEM, "cannot open the net engine");
	own->fetch = fetch;
	for (unsigned i = 0; i < LIMIT_FETCH_DEPTH; i++) {
		own->free[i] = &own->slot[i];
		own->slot[i].own = own;
	}
	own->net = net_open(&config, err);
	if (own->net == NULL) {
		free(own);
		return -ENOENT;
	}
	fetch->state = own;
	result = -thread_start(&own->thread, net_fetch_run, own);
	if (result == 0)
		return 0;
	error_sys(err, -result, "cannot start the fetch thread");
	net_close(own->net);
	free(own);
	return result;
}

/* Requests under way are given up: their answers may be a minute away. */
static void net_fetch_close(struct fetch *fetch)
{
	struct net_fetch *own = fetch->state;

	own->closing = true;
	net_wake(own->net);
	pthread_join(own->thread, NULL);
	net_fetch_let_go(own);
	net_close(own->net);
	free(own);
}

static uint64_t net_fetch_cpu_ns(const struct fetch *fetch)
{
	const struct net_fetch *own = fetch->state;

	return clock_cpu_of(own->thread);
}

const struct fetch_engine fetch_net = {
	.name = "net",
	.open = net_fetch_open,
	.close = net_fetch_close,
	.set_depth = net_fetch_set_depth,
	.kick = net_fetch_kick,
	.flush = net_fetch_flush,
	.cpu_ns = net_fetch_cpu_ns,
};
