/* schedule_ask.c - the windows that a schedule asks for. */
#include "loader/base/choice.h"
#include "loader/base/math/steady.h"
#include "loader/share.h"
#include "profiler/schedule/schedule_state.h"
#include "profiler/session/epoch_parts.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 32 }; /* reads in flight, of a curve */

enum {
	STEPS_WARMUP = 4,   /* of the program's start */
	EXTRAS_AT_ONCE = 2, /* after a block */
};

#define ROOM_SHARE    .95 /* of the time left is planned with */
#define FILL_SHARE    .1  /* of the budget, to fill a cache */
#define FILL_REQUESTS .5  /* of the objects that may be asked for, for the same */
#define FASTEST_FILL  8e9 /* bytes/s: what can't be read at that is not tried */

/* Of a curve window: */
#define LONGEST_S  1.
#define SHORTEST_S .1
#define MEASURED   .7 /* of a window's time; the rest is its switch */

/* Of the seconds of a single block: */
#define REAL_SHARE   .5 /* what is judged; the other kinds have the rest */
#define WARMUP_SHARE .1 /* and so long comes before */

/* Of the average length of a block's windows: one kind's. Real ones are never shorter, as
 * more of them would be what storage had under way at their ends. */
#define LEAST_STRETCH .5
#define LEAST_REAL    1.
#define MOST_STRETCH  2.

/* ---- windows beside the blocks ---- */

static void curve_windows_add(struct curve_windows *extras, enum trace_kind kind,
			      unsigned flags, unsigned x)
{
	struct trace_window *ask = &extras->asks[extras->count];

	if (extras->count == EXTRAS)
		return;
	extras->count++;
	*ask = (struct trace_window){
		.kind = kind,
		.flags = flags,
		.block = UINT32_MAX,
		.settle = STEPS_SETTLE,
		.min_steps = kind == TRACE_LOADED ? STEPS_LEAST : 0,
		.workers = kind == TRACE_PREP ? x : 0,
		.depth = kind == TRACE_FETCH ? x : 0,
	};
}

/* Of a loader that the program brought: what slows the step is known of workers alone, and
 * prep of batches that can be given again. */
static void curve_windows_plan_made(struct curve_windows *extras,
				    const struct trace_loader *loader)
{
	bool listed = loader->no_list[0] == '\0';

	if (loader->kind != TRACE_TORCH)
		return;
	for (int i = 0; i < 2; i++) {
		if (loader->workers > 0 && loader->beside == 0)
			curve_windows_add(extras, TRACE_LOADED, 0, 0);
		if (listed)
			curve_windows_add(extras, TRACE_PREP, 0, 0);
		for (unsigned k = 1; i == 0 && listed && k < loader->workers && k <= 64;
		     k *= 2)
			curve_windows_add(extras, TRACE_PREP, 0, k);
	}
}

static void curve_windows_plan_remote(struct curve_windows *extras,
				      const struct trace_loader *loader)
{
	if (loader->fetch_depth != 1)
		curve_windows_add(extras, TRACE_FETCH, 0, 1);
	if (loader->fetch_depth != DEEPEST)
		curve_windows_add(extras, TRACE_FETCH, 0, DEEPEST);
}

/* Plans them for this loader; what a verdict needs most comes first, for the time may
 * run out. */
static void curve_windows_plan(struct curve_windows *extras,
			       const struct trace_loader *loader)
{
	bool alone = !loader->shared; /* it works in the job's own process */

	if (loader->kind != TRACE_LIBDSA) {
		curve_windows_plan_made(extras, loader);
		return;
	}
	if (alone)
		curve_windows_add(extras, TRACE_LOADED, 0, 0);
	curve_windows_add(extras, TRACE_FETCH, 0, 0);
	if (loader->remote) /* two depths more tell latency and bandwidth apart */
		curve_windows_plan_remote(extras, loader);
	curve_windows_add(extras, TRACE_PREP, 0, 0);
	for (int i = 0; i < 3; i++)
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
	if (loader->storage_bandwidth > 0 || loader->storage_latency > 0) {
		curve_windows_add(extras, TRACE_FETCH, TRACE_UNTHROTTLED, 0);
		if (loader->fetch_depth > 1)
			curve_windows_add(extras, TRACE_FETCH, TRACE_UNTHROTTLED, 1);
	}
	for (unsigned k = 1; k < loader->workers && k <= 64; k *= 2)
		curve_windows_add(extras, TRACE_PREP, 0, k);
	for (unsigned q = 1; q <= DEEPEST; q *= 2)
		if (q != loader->fetch_depth &&
		    !(loader->remote && (q == 1 || q == DEEPEST)))
			curve_windows_add(extras, TRACE_FETCH, 0, q);
	for (int i = 0; i < 2; i++) { /* later: the machine is now faster, now slower */
		if (alone)
			curve_windows_add(extras, TRACE_LOADED, 0, 0);
		curve_windows_add(extras, TRACE_FETCH, 0, 0);
		curve_windows_add(extras, TRACE_PREP, 0, 0);
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
		curve_windows_add(extras, TRACE_PREP, TRACE_PAIRED, 0);
	}
}

/* Time that is still theirs. */
static double curve_windows_left_s(const struct curve_windows *extras)
{
	if (extras->next == extras->count)
		return 0;
	return fmax(0, extras->budget_s - extras->spent_s);
}

bool curve_windows_ask(struct curve_windows *extras, const struct window_cost *pace,
		       const struct trace_loader *loader, double left_s,
		       struct trace_window *ask)
{
	double each = MEASURED * extras->budget_s / fmax(1, extras->count);
	double length = fmin(LONGEST_S, fmax(SHORTEST_S, each));

	if (extras->next == extras->count || length > left_s ||
	    extras->spent_s + length > extras->budget_s)
		return false;
	*ask = extras->asks[extras->next++];
	ask->length_ns = (uint64_t)(length * 1e9);
	ask->limit_ns = (uint64_t)((left_s + LONGEST_S) * 1e9);
	if (ask->kind != TRACE_FETCH)
		ask->stage = window_cost_stage(pace, loader, ask->kind, length,
					       extras->memory_bytes);
	return true;
}

/* ---- blocks, and what comes before them ---- */

static uint64_t schedule_ask_ns(double seconds)
{
	return (uint64_t)(fmax(0, seconds) * 1e9);
}

static double schedule_length(const struct schedule *schedule, enum trace_kind kind)
{
	return schedule->length_s * schedule->stretch[kind];
}

uint32_t schedule_stage(const struct schedule *schedule, const struct trace *trace,
			enum trace_kind kind)
{
	return window_cost_stage(&schedule->pace, &trace->loader, kind,
				 schedule_length(schedule, kind),
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
	double hit[EPOCH_PARTS];

	if (steady_over(choice_find(CACHE_POLICY_NAMES, trace->loader.cache),
			cache_share(schedule, trace), trace->loader.dataset_bytes, hit,
			EPOCH_PARTS) < 0)
		return 0;
	return hit[epoch_part(schedule->config.seed, block)];
}

void schedule_set_real(const struct schedule *schedule, const struct trace *trace,
		       struct trace_window *ask)
{
	if (schedule->warm) {
		ask->flags |= TRACE_WARM;
		ask->stage = schedule_stage(schedule, trace, TRACE_CACHED);
	} else if (schedule->drawn) {
		ask->flags |= TRACE_DRAW;
		ask->hit = drawn_hit(schedule, trace, ask->block);
		ask->stage = schedule_stage(schedule, trace, TRACE_REAL);
	}
}

/* Jobs of one loader settle when the slowest has gone through its window: until then a
 * faster one runs ahead, which it can only once. */
static uint32_t steps_to_settle(const struct trace *trace)
{
	return trace->loader.shared ? STEPS_SETTLE + SHARE_WINDOW : STEPS_SETTLE;
}

double schedule_longest(const struct schedule *schedule)
{
	return schedule->config.only >= 0 ? SCHEDULE_LENGTH_S : SCHEDULE_BLOCK_LENGTH_S;
}

static enum trace_kind kind_now(const struct schedule *schedule)
{
	uint64_t seed = schedule->config.seed;
	unsigned pairs = block_order_count(&schedule->kinds) / 2;

	if (schedule->config.only >= 0)
		return (enum trace_kind)schedule->config.only;
	return block_order_at(&schedule->kinds,
			      schedule_is_single(schedule)
				      ? seed
				      : schedule->blocks + 2 * (seed % pairs),
			      schedule->in_block);
}

/* Kinds of windows that a block has. */
static unsigned schedule_kinds(const struct schedule *schedule)
{
	return schedule->config.only >= 0 ? 1 : block_order_kinds(&schedule->kinds);
}

void schedule_set_block(struct schedule *schedule, const struct trace *trace,
			struct trace_window *ask, double left_s)
{
	bool ready = ask->kind == TRACE_SYNTHETIC || ask->kind == TRACE_COPIED;
	double share =
		ask->kind == TRACE_REAL
			? REAL_SHARE
			: (1 - REAL_SHARE) / (block_order_kinds(&schedule->kinds) - 1);

	if (schedule_is_single(schedule))
		schedule->length_s = share * schedule->config.block_s;
	ask->settle = steps_to_settle(trace);
	ask->min_steps = STEPS_LEAST;
	ask->length_ns = schedule_ask_ns(schedule_length(schedule, ask->kind));
	ask->limit_ns = schedule_is_single(schedule)
				? 0
				: schedule_ask_ns(left_s + SCHEDULE_LENGTH_S);
	if (ready && schedule_is_single(schedule))
		ask->stage = window_cost_ready(&schedule->pace, &trace->loader,
					       schedule->length_s);
	if (ask->kind == TRACE_CACHED)
		ask->stage = schedule_stage(schedule, trace, TRACE_CACHED);
	if (ask->kind == TRACE_REAL)
		schedule_set_real(schedule, trace, ask);
}

/* As soon as there are blocks enough to show how far each kind scatters. */
static void schedule_set_stretch(struct schedule *schedule)
{
	const struct shares *shares = &schedule->shares;

	if (schedule->config.only >= 0 || shares->blocks < SHARES_BLOCKS_LEAST ||
	    isnan(shares->allocation[0]))
		return;
	for (int i = 0; i < STAGES; i++) {
		double least = i == STAGE_REAL ? LEAST_REAL : LEAST_STRETCH;
		double stretch = schedule_kinds(schedule) * shares->allocation[i];

		schedule->stretch[stage_table[i].kind] =
			fmin(MOST_STRETCH, fmax(least, stretch));
	}
}

void schedule_set_length(struct schedule *schedule, double left_s)
{
	unsigned missing = schedule->blocks < SHARES_BLOCKS_LEAST
				   ? SHARES_BLOCKS_LEAST - schedule->blocks
				   : 1;
	double kinds = schedule_kinds(schedule);
	double room = ROOM_SHARE * (left_s - curve_windows_left_s(&schedule->extras)) /
		      (missing * kinds);
	schedule->length_s =
		fmin(schedule_longest(schedule),
		     fmax(0, room - window_cost_switch_s(&schedule->pace)));
	schedule_set_stretch(schedule);
}

void schedule_ask_block(struct schedule *schedule, const struct trace *trace,
			double left_s, struct trace_window *ask)
{
	if (schedule->in_block == 0 && !schedule_is_single(schedule))
		schedule_set_length(schedule, left_s);
	*ask = (struct trace_window){.kind = kind_now(schedule),
				     .block = schedule->blocks};
	schedule_set_block(schedule, trace, ask, left_s);
	if (++schedule->in_block < schedule_kinds(schedule))
		return;
	schedule->in_block = 0;
	schedule->blocks++;
	schedule->extras_due = EXTRAS_AT_ONCE;
}

void schedule_ask_warmup(const struct schedule *schedule, struct trace_window *ask)
{
	const struct schedule_config *config = &schedule->config;

	*ask = (struct trace_window){
		.kind = TRACE_REAL,
		.flags = TRACE_WARMUP,
		.block = UINT32_MAX,
		.min_steps = STEPS_WARMUP,
	};
	if (schedule_is_single(schedule)) {
		ask->length_ns = schedule_ask_ns(WARMUP_SHARE * config->block_s);
		return;
	}
	ask->length_ns =
		schedule_ask_ns(fmin(SCHEDULE_LENGTH_S, config->budget_s / 20));
	ask->limit_ns = schedule_ask_ns(config->budget_s / 2);
}

/* What a fill may take. */
static double fill_s(const struct schedule *schedule)
{
	return schedule_is_single(schedule) ? schedule->config.block_s
					    : FILL_SHARE * schedule->config.budget_s;
}

/* True when the real windows of this cache need it full, and it can be tried. */
bool schedule_wants_fill(const struct schedule *schedule, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	double bytes =
		fmin((double)loader->cache_capacity, (double)loader->dataset_bytes);

	if (schedule->config.only >= 0 && schedule->config.only != TRACE_REAL)
		return false;
	if (bytes * (double)loader->dataset_samples >
	    FILL_REQUESTS * request_budget_left(trace) * (double)loader->dataset_bytes)
		return false;
	return loader->cache_capacity > 0 && bytes < fill_s(schedule) * FASTEST_FILL &&
	       (strcmp(loader->cache, "minio") == 0 ||
		cache_share(schedule, trace) >= 1);
}

void schedule_choose_cache(struct schedule *schedule, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	/* what reads around it has none */
	bool page = strcmp(loader->cache, "page") == 0 && !loader->direct;
	bool slowed = loader->storage_bandwidth > 0 || loader->storage_latency > 0;

	schedule->kinds.copied = loader->device[0] != '\0';
	schedule->kinds.cached = loader->no_list[0] == '\0';
	schedule->warm = schedule->drawn = false;
	if (!schedule->kinds.cached)
		return; /* real windows are the stream as it comes */
	if (loader->memory && !slowed)
		return; /* nothing is faster than memory */
	schedule->warm = page && !slowed && cache_share(schedule, trace) >= 1;
	schedule->drawn = !schedule->warm && (page || loader->cache_capacity > 0) &&
			  !schedule_wants_fill(schedule, trace);
}

static void schedule_plan_extras(struct schedule *schedule, const struct trace *trace)
{
	schedule->extras.count = schedule->extras.next = 0;
	if (schedule->config.only < 0 && !schedule_is_single(schedule))
		curve_windows_plan(&schedule->extras, &trace->loader);
}

void schedule_drop_list(struct schedule *schedule, const struct trace *trace)
{
	schedule_choose_cache(schedule, trace);
	schedule->beside = trace->loader.beside;
	for (unsigned i = 0; i < schedule->seen; i++)
		window_measure(trace, i, &schedule->windows[i]);
	schedule->blocks = schedule->in_block = schedule->again_count = 0;
	memset(schedule->voids, 0, sizeof(schedule->voids));
	schedule_plan_extras(schedule, trace);
}

/* First of all, or a cache that never evicts would hold what the warm-up just used. */
bool schedule_ask_fill(struct schedule *schedule, const struct trace *trace,
		       struct trace_window *ask)
{
	schedule_choose_cache(schedule, trace);
	schedule_plan_extras(schedule, trace);
	if (!schedule_wants_fill(schedule, trace))
		return false;
	*ask = (struct trace_window){
		.kind = TRACE_FILL,
		.block = UINT32_MAX,
		.limit_ns = schedule_ask_ns(fill_s(schedule)),
	};
	return true;
}

double schedule_window_s(const struct schedule *schedule, enum trace_kind kind)
{
	return window_cost_switch_s(&schedule->pace) +
	       fmax(schedule_length(schedule, kind),
		    STEPS_LEAST * window_cost_step_s(&schedule->pace, kind));
}

double schedule_block_s(const struct schedule *schedule)
{
	double seconds = 0;

	if (schedule->config.only >= 0)
		return schedule_window_s(schedule,
					 (enum trace_kind)schedule->config.only);
	for (unsigned i = 0; i < block_order_kinds(&schedule->kinds); i++)
		seconds += schedule_window_s(schedule,
					     block_order_at(&schedule->kinds, 0, i));
	return seconds;
}
