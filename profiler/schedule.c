#include "profiler/schedule.h"
#include "loader/base/permutation.h"
#include "loader/base/steady.h"
#include "profiler/epochs.h"
#include "profiler/extras.h"
#include "profiler/pace.h"
#include "profiler/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_ENOUGH = 8,  /* before the stop rule may say stop */
	KINDS_IN_BLOCK = 3, /* windows of a block */
	STEPS_SETTLE = 2,   /* thrown away after a switch */
	STEPS_LEAST = 8,    /* measured in a window */
	STEPS_WARMUP = 4,   /* of the program's start */
	AHEAD = 3,          /* windows asked for and not done */
	VOID_IN_A_ROW = 6,  /* of one kind: it will not get better */
	STRATA = 8,         /* parts of the epoch for drawn hits */
	EXTRAS_AT_ONCE = 2, /* after a block */
};

#define LENGTH_S     1.  /* of a window, if the budget allows */
#define EXTRAS_SHARE .2  /* of the budget, for all of them */
#define ROOM_SHARE   .95 /* of the time left is planned with */
#define FILL_SHARE   .1  /* of the budget, to fill a cache */
#define FILLED       .9  /* of its capacity: the cache is full */
#define FASTEST_FILL 8e9 /* bytes/s: what can't be read at that is not tried */

struct schedule {
	struct schedule_config config;
	struct window *windows; /* measured ones, TRACE_WINDOWS of room */
	unsigned seen;          /* windows that ended: those before windows[seen] */
	unsigned asked;
	struct pace pace;
	struct shares shares;

	struct trace_window again[TRACE_WINDOWS / 4]; /* void, to be asked again */
	unsigned again_count;
	unsigned voids[TRACE_KINDS]; /* in a row */
	char why[160];

	bool begun, planned, warmed;
	bool filled;               /* the cache was */
	bool drawn;                /* real windows draw their hits */
	bool warm;                 /* or read through a warm page cache */
	unsigned blocks, in_block; /* whole ones asked for; windows of the next one */
	struct extras extras;
	unsigned extras_due;
	struct epochs epochs;
	double length_s; /* of a window */
};

/* Orders of a block's windows: each is followed by its mirror, so that a linear drift
 * cancels over the two, and each kind comes first, second and last as often. */
static const enum trace_kind orders[6][KINDS_IN_BLOCK] = {
	{TRACE_SYNTHETIC, TRACE_CACHED, TRACE_REAL},
	{TRACE_REAL, TRACE_CACHED, TRACE_SYNTHETIC},
	{TRACE_CACHED, TRACE_REAL, TRACE_SYNTHETIC},
	{TRACE_SYNTHETIC, TRACE_REAL, TRACE_CACHED},
	{TRACE_REAL, TRACE_SYNTHETIC, TRACE_CACHED},
	{TRACE_CACHED, TRACE_SYNTHETIC, TRACE_REAL},
};

struct schedule *schedule_new(const struct schedule_config *config)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));

	if (schedule == NULL)
		return NULL;
	schedule->config = *config;
	schedule->length_s = LENGTH_S;
	schedule->extras.budget_s = EXTRAS_SHARE * config->budget_s;
	schedule->extras.memory_bytes = config->memory_bytes;
	schedule->windows = calloc(TRACE_WINDOWS, sizeof(*schedule->windows));
	if (schedule->windows == NULL ||
	    shares_measure(schedule->windows, 0, &schedule->shares) < 0) {
		schedule_free(schedule);
		return NULL;
	}
	return schedule;
}

void schedule_free(struct schedule *schedule)
{
	if (schedule != NULL)
		free(schedule->windows);
	free(schedule);
}

const struct shares *schedule_shares(const struct schedule *schedule)
{
	return &schedule->shares;
}

const char *schedule_why(const struct schedule *schedule)
{
	return schedule->why;
}

/* ---- what has been done ---- */

static bool is_extra(const struct trace_window *raw)
{
	return raw->block >= TRACE_WINDOWS && raw->kind != TRACE_FILL &&
	       (raw->flags & TRACE_WARMUP) == 0;
}

static bool over(const struct trace_window *raw)
{
	return raw->state == TRACE_DONE || raw->state == TRACE_REFUSED;
}

/* A request as it was, without the answer. */
static struct trace_window request_of(const struct trace_window *raw)
{
	return (struct trace_window){
		.kind = raw->kind,
		.flags = raw->flags,
		.block = raw->block,
		.settle = raw->settle,
		.min_steps = raw->min_steps,
		.hit = raw->hit,
	};
}

static void note_void(struct schedule *schedule, const struct trace_window *raw,
		      const struct window *window)
{
	memcpy(schedule->why, window->why, sizeof(schedule->why));
	schedule->voids[raw->kind]++;
	if (schedule->again_count < TRACE_WINDOWS / 4)
		schedule->again[schedule->again_count++] = request_of(raw);
}

static void see(struct schedule *schedule, const struct trace *trace, unsigned index)
{
	const struct trace_window *raw = &trace->windows[index];
	struct window *window = &schedule->windows[index];

	window_measure(trace, index, window);
	pace_learn(&schedule->pace, window);
	if (is_extra(raw))
		schedule->extras.spent_s +=
			(double)(raw->end.time_ns - raw->switch_ns) * 1e-9;
	if (raw->kind == TRACE_FILL) {
		schedule->filled = (double)raw->end.cache_bytes >=
				   FILLED * fmin((double)trace->loader.cache_capacity,
						 (double)trace->loader.dataset_bytes);
		schedule->drawn = !schedule->filled;
	}
	if (raw->block >= TRACE_WINDOWS)
		return;
	if (window->certified)
		schedule->voids[raw->kind] = 0;
	else
		note_void(schedule, raw, window);
}

static int look(struct schedule *schedule, const struct trace *trace)
{
	bool news = false;

	while (schedule->seen < window_count(trace) &&
	       over(&trace->windows[schedule->seen])) {
		see(schedule, trace, schedule->seen++);
		news = true;
	}
	return !news ? 0
		     : shares_measure(schedule->windows, schedule->seen,
				      &schedule->shares);
}

/* Half-width of the one kind's time per sample, relative to it. */
static double half_of_one(const struct schedule *schedule)
{
	double times[TRACE_WINDOWS];
	struct interval mean;
	size_t count = 0;

	for (unsigned i = 0; i < schedule->seen; i++)
		if (shares_uses(&schedule->windows[i]))
			times[count++] = schedule->windows[i].seconds /
					 schedule->windows[i].samples;
	if (count < (schedule->epochs.on ? EPOCHS_ENOUGH : BLOCKS_ENOUGH))
		return INFINITY;
	mean = statistics_mean(times, count);
	return statistics_half(mean) / mean.value;
}

static bool precise(const struct schedule *schedule)
{
	if (schedule->config.only >= 0)
		return half_of_one(schedule) <=
		       schedule->config.precision / (schedule->config.rate ? 1 : 2);
	return schedule->shares.blocks >= BLOCKS_ENOUGH &&
	       shares_half(&schedule->shares) <= schedule->config.precision;
}

/* ---- what to ask for ---- */

static uint64_t ns(double seconds)
{
	return (uint64_t)(fmax(0, seconds) * 1e9);
}

static uint32_t stage_for(const struct schedule *schedule, const struct trace *trace,
			  enum trace_kind kind)
{
	return pace_stage(&schedule->pace, &trace->loader, kind, schedule->length_s,
			  schedule->config.memory_bytes);
}

/* The cache's share of the data set; of page: what memory it may grow to. */
static double cache_share(const struct schedule *schedule, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	double bytes = (double)loader->cache_capacity;

	if (strcmp(loader->cache, "page") == 0)
		bytes = (double)schedule->config.cache_bytes;
	return loader->dataset_bytes > 0 ? bytes / (double)loader->dataset_bytes : 0;
}

/* Hits of the part of the epoch that block number `block` stands for. */
static double drawn_hit(const struct schedule *schedule, const struct trace *trace,
			unsigned block)
{
	uint32_t order[STRATA];
	double hit[STRATA];

	permutation_fill(order, STRATA, schedule->config.seed, block / STRATA);
	if (steady_over(trace->loader.cache, cache_share(schedule, trace),
			trace->loader.dataset_bytes, hit, STRATA) < 0)
		return 0;
	return hit[order[block % STRATA]];
}

static void set_real(const struct schedule *schedule, const struct trace *trace,
		     struct trace_window *ask)
{
	if (schedule->warm) {
		ask->flags |= TRACE_WARM;
		ask->stage = stage_for(schedule, trace, TRACE_CACHED);
	} else if (schedule->drawn) {
		ask->flags |= TRACE_DRAW;
		ask->hit = drawn_hit(schedule, trace, ask->block);
		ask->stage = stage_for(schedule, trace, TRACE_REAL);
	}
}

static void set_block(const struct schedule *schedule, const struct trace *trace,
		      struct trace_window *ask, double left_s)
{
	ask->settle = STEPS_SETTLE;
	ask->min_steps = STEPS_LEAST;
	ask->length_ns = ns(schedule->length_s);
	ask->limit_ns = ns(left_s + LENGTH_S);
	if (ask->kind == TRACE_CACHED)
		ask->stage = stage_for(schedule, trace, TRACE_CACHED);
	if (ask->kind == TRACE_REAL)
		set_real(schedule, trace, ask);
}

/* How long a window may be for 8 blocks to fit into what is left. */
static void set_length(struct schedule *schedule, double left_s)
{
	unsigned missing =
		schedule->blocks < BLOCKS_ENOUGH ? BLOCKS_ENOUGH - schedule->blocks : 1;
	double kinds = schedule->config.only >= 0 ? 1 : KINDS_IN_BLOCK;
	double room = ROOM_SHARE * (left_s - extras_left_s(&schedule->extras)) /
		      (missing * kinds);
	schedule->length_s =
		fmin(LENGTH_S, fmax(0, room - pace_switch_s(&schedule->pace)));
}

static enum trace_kind kind_now(const struct schedule *schedule)
{
	unsigned order = schedule->blocks + 2 * (unsigned)(schedule->config.seed % 3);

	if (schedule->config.only >= 0)
		return (enum trace_kind)schedule->config.only;
	return orders[order % 6][schedule->in_block];
}

/* The next window of the present block. */
static void ask_block(struct schedule *schedule, const struct trace *trace,
		      double left_s, struct trace_window *ask)
{
	unsigned kinds = schedule->config.only >= 0 ? 1 : KINDS_IN_BLOCK;

	if (schedule->in_block == 0)
		set_length(schedule, left_s);
	*ask = (struct trace_window){.kind = kind_now(schedule),
				     .block = schedule->blocks};
	set_block(schedule, trace, ask, left_s);
	if (++schedule->in_block < kinds)
		return;
	schedule->in_block = 0;
	schedule->blocks++;
	schedule->extras_due = EXTRAS_AT_ONCE;
}

static void ask_warmup(const struct schedule *schedule, struct trace_window *ask)
{
	*ask = (struct trace_window){
		.kind = TRACE_REAL,
		.flags = TRACE_WARMUP,
		.block = UINT32_MAX,
		.min_steps = STEPS_WARMUP,
		.length_ns = ns(fmin(LENGTH_S, schedule->config.budget_s / 20)),
		.limit_ns = ns(schedule->config.budget_s / 2),
	};
}

/* True when the real windows of this cache need it full, and it can be tried. */
static bool wants_fill(const struct schedule *schedule, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	double bytes =
		fmin((double)loader->cache_capacity, (double)loader->dataset_bytes);

	if (schedule->config.only >= 0 && schedule->config.only != TRACE_REAL)
		return false;
	return loader->cache_capacity > 0 &&
	       bytes < FILL_SHARE * schedule->config.budget_s * FASTEST_FILL &&
	       (strcmp(loader->cache, "minio") == 0 ||
		cache_share(schedule, trace) >= 1);
}

/* How real windows get at the cache in its steady state. */
static void choose_cache(struct schedule *schedule, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	bool page = strcmp(loader->cache, "page") == 0;
	bool slowed = loader->storage_bandwidth > 0 || loader->storage_latency > 0;

	if (loader->memory && !slowed)
		return; /* nothing is faster than memory */
	schedule->warm = page && !slowed && cache_share(schedule, trace) >= 1;
	schedule->drawn = !schedule->warm && (page || loader->cache_capacity > 0) &&
			  !wants_fill(schedule, trace);
}

/* First of all, or a cache that never evicts would hold what the warm-up just used. */
static bool ask_fill(struct schedule *schedule, const struct trace *trace,
		     struct trace_window *ask)
{
	choose_cache(schedule, trace);
	if (schedule->config.only < 0)
		extras_plan(&schedule->extras, &trace->loader);
	if (!wants_fill(schedule, trace))
		return false;
	*ask = (struct trace_window){
		.kind = TRACE_FILL,
		.block = UINT32_MAX,
		.limit_ns = ns(FILL_SHARE * schedule->config.budget_s),
	};
	return true;
}

static bool ask_again(struct schedule *schedule, const struct trace *trace,
		      double left_s, struct trace_window *ask)
{
	if (schedule->again_count == 0)
		return false;
	*ask = schedule->again[--schedule->again_count];
	ask->flags &= TRACE_WARMUP; /* set anew */
	set_block(schedule, trace, ask, left_s);
	return true;
}

/* What a block takes, by the paces seen. */
static double block_seconds(const struct schedule *schedule)
{
	double seconds = 0;

	for (int i = 0; i < KINDS_IN_BLOCK; i++) {
		enum trace_kind kind = orders[0][i];

		if (schedule->config.only >= 0 && (int)kind != schedule->config.only)
			continue;
		seconds += pace_switch_s(&schedule->pace) +
			   fmax(schedule->length_s,
				STEPS_LEAST * pace_step_s(&schedule->pace, kind));
	}
	return seconds;
}

static bool given_up(const struct schedule *schedule)
{
	for (unsigned i = 0; i < TRACE_KINDS; i++)
		if (schedule->voids[i] >= VOID_IN_A_ROW)
			return true;
	return false;
}

/* True when a block fits; beyond the eighth not one of shortened windows. */
static bool fits(struct schedule *schedule, double left_s)
{
	set_length(schedule, left_s);
	if (schedule->blocks >= BLOCKS_ENOUGH && schedule->length_s < LENGTH_S / 2)
		return false;
	return block_seconds(schedule) <= left_s;
}

/* Between windows: extras that are due, blocks, or the end. */
static enum schedule_step choose(struct schedule *schedule, const struct trace *trace,
				 double left_s, struct trace_window *ask)
{
	bool enough = precise(schedule);

	if (schedule->in_block == 0 && (schedule->extras_due > 0 || enough)) {
		schedule->extras_due -= schedule->extras_due > 0;
		if (extras_ask(&schedule->extras, &schedule->pace, &trace->loader,
			       left_s, ask))
			return SCHEDULE_ASK;
	}
	if (enough)
		return SCHEDULE_DONE;
	if (ask_again(schedule, trace, left_s, ask))
		return SCHEDULE_ASK;
	if (schedule->in_block == 0 && schedule->shares.blocks > 0 &&
	    !fits(schedule, left_s))
		return SCHEDULE_OUT;
	ask_block(schedule, trace, left_s, ask);
	return SCHEDULE_ASK;
}

/* Whole epochs, when all of them fit: then nothing about the cache is drawn. */
static void plan_epochs(struct schedule *schedule, const struct trace *trace,
			double left_s)
{
	const struct trace_loader *loader = &trace->loader;
	bool cached = loader->cache_capacity > 0 || strcmp(loader->cache, "page") == 0;

	schedule->warmed = true;
	if (!schedule->config.rate)
		return;
	epochs_plan(&schedule->epochs, loader, pace_step_s(&schedule->pace, TRACE_REAL),
		    schedule->filled || !cached, left_s);
	if (schedule->epochs.on)
		schedule->drawn = schedule->warm = false;
}

/* The end counts only when what was asked for is done. */
static enum schedule_step settled(const struct schedule *schedule,
				  enum schedule_step step)
{
	if ((step == SCHEDULE_DONE || step == SCHEDULE_OUT) &&
	    schedule->seen < schedule->asked)
		return SCHEDULE_WAIT;
	return step;
}

/* An epoch that is under way need not end when those before it are enough. */
static enum schedule_step choose_epoch(struct schedule *schedule,
				       const struct trace *trace, double left_s,
				       struct trace_window *ask)
{
	double step_s = pace_step_s(&schedule->pace, TRACE_REAL);

	if (precise(schedule))
		return SCHEDULE_DONE;
	if (epochs_ask(&schedule->epochs, &trace->loader, step_s, left_s, ask))
		return SCHEDULE_ASK;
	return settled(schedule, SCHEDULE_OUT);
}

static enum schedule_step decide(struct schedule *schedule, const struct trace *trace,
				 double left_s, struct trace_window *ask)
{
	if (!trace->loader_ready) /* what it loads, and how, decides the rest */
		return SCHEDULE_WAIT;
	if (!schedule->planned) {
		schedule->planned = true;
		if (ask_fill(schedule, trace, ask))
			return SCHEDULE_ASK;
	}
	if (!schedule->begun) {
		schedule->begun = true;
		ask_warmup(schedule, ask);
		return SCHEDULE_ASK;
	}
	/* What the fill and the warm-up show is needed. */
	if (!schedule->warmed && schedule->seen < schedule->asked)
		return SCHEDULE_WAIT;
	if (!schedule->warmed)
		plan_epochs(schedule, trace, left_s);
	if (given_up(schedule))
		return SCHEDULE_VOID;
	if (schedule->asked == TRACE_WINDOWS)
		return SCHEDULE_OUT;
	if (schedule->asked >= schedule->seen + AHEAD)
		return SCHEDULE_WAIT;
	if (schedule->epochs.on)
		return choose_epoch(schedule, trace, left_s, ask);
	return settled(schedule, choose(schedule, trace, left_s, ask));
}

/* What windows take that were asked for and are not done. */
static double pending_s(const struct schedule *schedule, const struct trace *trace)
{
	double seconds = 0;

	for (unsigned i = schedule->seen; i < schedule->asked; i++) {
		const struct trace_window *raw = &trace->windows[i];
		double step = pace_step_s(&schedule->pace, raw->kind);

		if (raw->flags & TRACE_EPOCH)
			seconds += epochs_window_s(&trace->loader, step);
		else
			seconds += pace_switch_s(&schedule->pace) +
				   fmax((double)raw->length_ns * 1e-9,
					raw->min_steps * step);
	}
	return seconds;
}

enum schedule_step schedule_next(struct schedule *schedule, const struct trace *trace,
				 double elapsed_s, struct trace_window *ask)
{
	enum schedule_step step;
	double left_s;

	if (look(schedule, trace) < 0)
		return SCHEDULE_OUT;
	left_s = schedule->config.budget_s - elapsed_s - pending_s(schedule, trace);
	step = decide(schedule, trace, left_s, ask);
	schedule->asked += step == SCHEDULE_ASK;
	return step;
}
