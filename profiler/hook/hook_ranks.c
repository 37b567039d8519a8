/* hook_ranks.c - joins the ranks of a job; tells orders, and follows them. */
#include "profiler/hook/hook_ranks.h"
#include "profiler/io/base/owner.h"
#include "profiler/io/dsa_io.h"

#include <errno.h>
#include <stdio.h>

/* From when on a job that has not come together will not: batches of the first rank. */
enum { LATE = 64 };

static struct {
	uint64_t joined; /* this process, as owner.h has it, is one of several; 0: no */
	uint32_t rank;
	struct io_ranks *ranks; /* in the first one's page; NULL: it has no loader */
	struct io_page *page;   /* the rank's own */
	struct hook_calls calls;
	struct hook_list list;
	uint32_t ahead; /* batches that its workers are */
	uint32_t given; /* batches */
	bool begun;     /* all ranks have switched once */
	bool ended;     /* all ranks were told so: no more of them; */
	bool left;      /* or that dsa is gone */
} own;

int dsa_hook_join(uint32_t rank, uint32_t world)
{
	struct io_page *first = dsa_io_first_page();

	if (first == NULL || world > IO_RANKS || rank >= world)
		return 0;
	if (own.joined == 0 && rank > 0 && !dsa_io_rank(rank))
		return 0;
	own.joined = owner_self();
	own.rank = rank;
	atomic_store(&first->rank, 1);
	atomic_store(&first->world, world);
	atomic_store(&first->ranks.world, world);
	return 1;
}

const char *dsa_hook_over(void)
{
	return own.ranks == NULL || own.ended || own.left ? NULL
							  : ranks_over(own.ranks);
}

uint32_t hook_ranks_batch(void)
{
	return own.given + 1;
}

void hook_ranks_delivered(uint64_t blocked_ns)
{
	own.given++;
	if (own.page != NULL)
		atomic_fetch_add(&own.page->given, 1);
	if (own.ranks == NULL || own.ranks->counts == 0)
		return;
	atomic_fetch_add(&own.ranks->ranks[own.rank].batches, 1);
	atomic_fetch_add(&own.ranks->ranks[own.rank].blocked_ns, blocked_ns);
}

bool hook_ranks_apart(void)
{
	return own.joined != 0 && (!own.begun || own.left);
}

/* ---- the first ---- */

static void hook_ranks_begin(struct io_page *first)
{
	own.ranks = &first->ranks;
	own.given = 0;
	own.begun = own.ended = own.left = false;
}

struct io_ranks *hook_ranks_led(struct io_page *first)
{
	if (own.joined == 0 || own.rank > 0 || !ranks_join(&first->ranks, 0))
		return NULL;
	hook_ranks_begin(first);
	return own.ranks;
}

bool hook_tell(struct hook *hook, const struct ranks_order *order)
{
	return hook->ranks == NULL ||
	       hook_done(hook, ranks_tell(hook->ranks, order) - 1);
}

/* Those that never come are told of once, and dsa drives no rank alone. */
static void hook_miss(struct hook *hook)
{
	char why[IO_WHY];

	if (own.given < LATE)
		return;
	snprintf(why, sizeof(why),
		 "only %u of the job's %u ranks load batches under this dsa: all are "
		 "measured together, on one machine",
		 ranks_joined(hook->ranks), hook->ranks->world);
	ranks_end(hook->ranks, why);
	driver_end(&hook->driver);
}

bool hook_agree(void *loader, uint32_t round)
{
	struct hook *hook = loader;

	if (hook->ranks == NULL || hook->driver.ended)
		return !own.left;
	if (ranks_joined(hook->ranks) < hook->ranks->world) {
		hook_miss(hook);
		return driver_stopped(&hook->driver);
	}
	hook->agreed = ranks_agree(hook->ranks, hook_ranks_batch(), round);
	return hook->agreed;
}

void hook_switched(struct hook *hook, bool goes_on)
{
	bool leaves = goes_on && hook->driver.detached;
	const struct ranks_order order = {.task = leaves    ? RANKS_LEAVE
						  : goes_on ? RANKS_GO
							    : RANKS_END};

	if (!hook->agreed || !hook_tell(hook, &order))
		return;
	hook->agreed = false;
	own.begun = true;
	own.ended = !goes_on;
	own.left = leaves;
	if (order.task != RANKS_GO) /* nobody is told more, whatever it is asked for */
		hook->ranks = NULL;
}

void hook_ranks_rest(void)
{
	if (own.page != NULL)
		atomic_store(&own.page->loaded, 0);
}

void hook_ranks_close(void)
{
	if (own.ranks == NULL || own.joined != owner_self())
		return;
	if (!own.ended && !own.left && (own.begun || own.rank == 0))
		ranks_end(own.ranks, "one of its ranks ended by itself");
	if (!own.begun)
		ranks_quit(own.ranks, own.rank);
	hook_ranks_rest();
	own.ranks = NULL;
}

/* ---- the others ---- */

bool hook_follows(void)
{
	return own.joined != 0 && own.rank > 0;
}

int hook_follow(const struct hook_about *about, const struct hook_calls *calls)
{
	struct io_page *first = dsa_io_first_page();

	own.page = dsa_io_page();
	if (own.ranks != NULL || first == NULL || own.page == NULL)
		return own.ranks != NULL ? -EBUSY : -ENOENT;
	own.calls = *calls;
	own.ahead = about->workers * about->prefetch;
	if (!ranks_join(&first->ranks, own.rank))
		return -EBUSY; /* this one was started by that rank */
	hook_ranks_begin(first);
	return 0;
}

bool hook_ranks_refuse(const char *why)
{
	struct io_page *first = own.joined != 0 ? dsa_io_first_page() : NULL;

	if (first != NULL)
		ranks_end(&first->ranks, why);
	return hook_follows() && first->ranks.ranks[0].owner != 0;
}

static int hook_follow_list(uint32_t batches)
{
	int result;

	hook_list_begin(&own.list, own.page);
	result = own.calls.list(batches);
	hook_list_end(&own.list, own.page);
	return result;
}

static void hook_follow_files(const struct ranks_order *order)
{
	uint64_t bytes;

	dsa_io_list_read(1, order->ns);
	if (order->share > 0)
		dsa_io_list_evict(order->share, order->ns, &bytes);
}

static int hook_follow_start(const struct ranks_order *order)
{
	atomic_store(&own.page->given, 0);
	atomic_store(&own.page->loaded_from, own.page->batch_count);
	atomic_store(&own.page->step_ns, order->ns);
	atomic_store(&own.page->loaded, order->number == HOOK_LOADED ? own.ahead : 0);
	return own.calls.start(order->number);
}

static int hook_follow_order(const struct ranks_order *order)
{
	switch (order->task) {
	case RANKS_DRAIN:
		atomic_store(&own.page->loaded, 0);
		return own.calls.drain();
	case RANKS_LIST:
		return hook_follow_list(order->number);
	case RANKS_FILES:
		hook_follow_files(order);
		return 0;
	case RANKS_START:
		return hook_follow_start(order);
	case RANKS_MAKE:
		return own.calls.make(order->number, order->ns);
	case RANKS_GO:
	case RANKS_LEAVE:
	case RANKS_END:
		break;
	}
	return 0;
}

/* What failed in Python it tells by itself, once this returns. */
static bool hook_follow_orders(void)
{
	struct ranks_order order = {.task = RANKS_DRAIN};

	while (order.task < RANKS_GO) {
		if (!ranks_await(own.ranks, own.rank, &order))
			return false;
		if (hook_follow_order(&order) < 0) {
			ranks_end(own.ranks,
				  "the loader of another rank than the first "
				  "failed in a window");
			return false;
		}
		ranks_did(own.ranks, own.rank);
	}
	own.begun = true;
	own.ended = order.task == RANKS_END;
	own.left = order.task == RANKS_LEAVE;
	return !own.ended;
}

int hook_follow_request(void)
{
	bool goes_on = own.left;

	if (!hook_follow_stopped())
		goes_on = !ranks_come(own.ranks, hook_ranks_batch()) ||
			  hook_follow_orders();
	if (!goes_on)
		hook_ranks_rest();
	return goes_on;
}

bool hook_follow_is_alone(void)
{
	return !own.begun && own.given == LATE && own.ranks != NULL &&
	       own.ranks->ranks[0].owner == 0;
}

int hook_follow_stopped(void)
{
	return own.ranks == NULL || own.ended || own.left ||
	       ranks_over(own.ranks) != NULL;
}
