/* schedule.c - decides whether a run needs another block or may end. */
#include "profiler/schedule/schedule.h"
#include "profiler/analysis/statistics.h"
#include "profiler/schedule/schedule_state.h"
#include "profiler/session/disturbance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 3 /* windows asked for and not done */ };

#define EXTRAS_SHARE .2 /* of the budget, for all of them */
#define FILLED       .9 /* of its capacity: the cache is full */
#define EPOCHS_S     1. /* of a window of whole epochs, at the least */

struct schedule *schedule_new(const struct schedule_config *config)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));

	if (schedule == NULL)
		return NULL;
	schedule->config = *config;
	schedule->length_s = SCHEDULE_LENGTH_S;
	schedule->kinds.cached = true;
	for (int i = 0; i < TRACE_KINDS; i++)
		schedule->stretch[i] = 1;
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

static bool schedule_over(const struct trace_window *raw)
{
	return raw->state == TRACE_DONE || raw->state == TRACE_REFUSED;
}

static void schedule_see(struct schedule *schedule, const struct trace *trace,
			 unsigned index)
{
	const struct trace_window *raw = &trace->windows[index];
	struct window *window = &schedule->windows[index];

	window_measure(trace, index, window);
	window_cost_learn(&schedule->pace, window);
	request_budget_learn(&schedule->requests, &trace->loader, raw);
	if (is_extra(raw))
		schedule->extras.spent_s +=
			(double)(raw->end.time_ns - raw->switch_ns) * 1e-9;
	if (is_extra(raw) && raw->kind == TRACE_LOADED)
		schedule_note_loaded(schedule, window);
	if (raw->kind == TRACE_FILL && trace->loader.cache_capacity > 0) {
		schedule->filled = (double)raw->end.cache_bytes >=
				   FILLED * fmin((double)trace->loader.cache_capacity,
						 (double)trace->loader.dataset_bytes);
		schedule->drawn = !schedule->filled;
	}
	if (raw->block >= TRACE_WINDOWS ||
	    (raw->kind == TRACE_CACHED && !schedule->kinds.cached))
		return;
	if (window->certified)
		schedule->voids[raw->kind] = 0;
	else
		schedule_note_void(schedule, window);
}

int schedule_look(struct schedule *schedule, const struct trace *trace)
{
	unsigned before = schedule->seen;

	while (schedule->seen < window_count(trace) &&
	       schedule_over(&trace->windows[schedule->seen]))
		schedule_see(schedule, trace, schedule->seen++);
	if (schedule->seen == before)
		return 0;
	if (schedule->planned &&
	    (schedule->beside != trace->loader.beside ||
	     (schedule->kinds.cached && trace->loader.no_list[0] != '\0')))
		schedule_drop_list(schedule, trace);
	schedule->disturbed = disturbance_judge(schedule->windows, schedule->seen);
	return shares_measure(schedule->windows, schedule->seen, &schedule->shares);
}

/* ---- windows of whole epochs ---- */

/* What a window is expected to take: of the shortest epochs several. */
static double epochs_window_s(const struct trace_loader *loader, double step_s)
{
	double epoch_s = step_s * (double)loader->steps_per_epoch;

	return epoch_s > 0 ? epoch_s * ceil(EPOCHS_S / epoch_s) : 0;
}

/*
 * Decides, after the warm-up, whether they fit into left_s: a step takes step_s.
 * `steady`: the cache is as it will stay.
 */
static void epochs_plan(struct epochs *epochs, const struct trace_loader *loader,
			double step_s, bool steady, double left_s)
{
	double epoch_s = step_s * (double)loader->steps_per_epoch;

	epochs->warm = steady ? 0 : 1;
	/* The rest of the present epoch comes first. */
	epochs->on = epoch_s > 0 &&
		     epoch_s + (epochs->warm + EPOCHS_ENOUGH) *
					     epochs_window_s(loader, step_s) <=
			     left_s;
}

/* The next one; false: it does not fit. */
static bool epochs_ask(struct epochs *epochs, const struct trace_loader *loader,
		       double step_s, double left_s, struct trace_window *ask)
{
	bool warm = epochs->warm > 0;

	if (epochs_window_s(loader, step_s) > left_s)
		return false;
	*ask = (struct trace_window){
		.kind = TRACE_REAL,
		.flags = TRACE_EPOCH | (warm ? TRACE_WARMUP : 0u),
		.block = warm ? UINT32_MAX : epochs->asked++,
		.length_ns = warm ? 0 : (uint64_t)(EPOCHS_S * 1e9),
		.min_steps = 1,
	};
	epochs->warm -= warm;
	return true;
}

/* ---- what comes next ---- */

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
	if (count < (schedule->epochs.on ? EPOCHS_ENOUGH : SHARES_BLOCKS_LEAST))
		return INFINITY;
	mean = statistics_mean(times, count);
	return interval_half(mean) / mean.value;
}

bool schedule_precise(const struct schedule *schedule)
{
	if (schedule->config.block_s > 0)
		return schedule->shares.blocks > 0;
	if (schedule->config.only >= 0)
		return half_of_one(schedule) <=
		       schedule->config.precision / (schedule->config.rate ? 1 : 2);
	return schedule->shares.blocks >= SHARES_BLOCKS_LEAST &&
	       shares_half(&schedule->shares) <= schedule->config.precision;
}

/* True when a block fits; beyond the eighth not one of shortened windows. */
static bool schedule_fits(struct schedule *schedule, double left_s)
{
	schedule_set_length(schedule, left_s);
	if (schedule->blocks >= SHARES_BLOCKS_LEAST &&
	    schedule->length_s < schedule_longest(schedule) / 2)
		return false;
	return schedule_block_s(schedule) <= left_s;
}

/* Between windows: extras that are due, blocks, or the end. */
static enum schedule_step schedule_choose(struct schedule *schedule,
					  const struct trace *trace, double left_s,
					  struct trace_window *ask)
{
	bool enough = schedule_precise(schedule) && !schedule->behind;

	if (schedule->in_block == 0 && (schedule->extras_due > 0 || enough)) {
		schedule->extras_due -= schedule->extras_due > 0;
		schedule_repeat_curve(schedule, trace);
		if (curve_windows_ask(&schedule->extras, &schedule->pace,
				      &trace->loader, left_s, ask))
			return SCHEDULE_ASK;
	}
	if (enough)
		return SCHEDULE_DONE;
	if (schedule_ask_again(schedule, trace, left_s, ask))
		return SCHEDULE_ASK;
	if (schedule->config.block_s > 0 && schedule->blocks > 0)
		return SCHEDULE_WAIT; /* for the only one */
	if (schedule->in_block == 0 && schedule->shares.blocks > 0 &&
	    !schedule_fits(schedule, left_s))
		return SCHEDULE_OUT;
	schedule_ask_block(schedule, trace, left_s, ask);
	return SCHEDULE_ASK;
}

/* Whole epochs, when all of them fit: then nothing about the cache is drawn. */
static void plan_epochs(struct schedule *schedule, const struct trace *trace,
			double left_s)
{
	const struct trace_loader *loader = &trace->loader;
	bool cached = loader->cache_capacity > 0 || strcmp(loader->cache, "page") == 0;

	schedule->warmed = true;
	/* Another loader tells no epochs apart. */
	if (!schedule->config.rate || schedule->config.in_step ||
	    loader->kind != TRACE_LIBDSA)
		return;
	epochs_plan(&schedule->epochs, loader,
		    window_cost_step_s(&schedule->pace, TRACE_REAL),
		    schedule->filled || !cached, left_s);
	if (schedule->epochs.on)
		schedule->drawn = schedule->warm = false;
}

/* The end counts only when what was asked for is done. */
static enum schedule_step schedule_settled(const struct schedule *schedule,
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
	double step_s = window_cost_step_s(&schedule->pace, TRACE_REAL);

	if (schedule_precise(schedule))
		return SCHEDULE_DONE;
	if (epochs_ask(&schedule->epochs, &trace->loader, step_s, left_s, ask))
		return SCHEDULE_ASK;
	return schedule_settled(schedule, SCHEDULE_OUT);
}

static enum schedule_step schedule_decide(struct schedule *schedule,
					  const struct trace *trace, double left_s,
					  struct trace_window *ask)
{
	if (!trace->loader_ready) /* what it loads, and how, decides the rest */
		return SCHEDULE_WAIT;
	if (!schedule->planned) {
		schedule->planned = true;
		if (schedule_ask_fill(schedule, trace, ask))
			return SCHEDULE_ASK;
	}
	if (!schedule->begun) {
		schedule->begun = true;
		schedule_ask_warmup(schedule, ask);
		return SCHEDULE_ASK;
	}
	/* What the fill and the warm-up show is needed. */
	if (!schedule->warmed && schedule->seen < schedule->asked)
		return SCHEDULE_WAIT;
	if (!schedule->warmed)
		plan_epochs(schedule, trace, left_s);
	if (schedule_given_up(schedule))
		return SCHEDULE_VOID;
	if (schedule->asked == TRACE_WINDOWS)
		return SCHEDULE_OUT;
	if (schedule->asked >= schedule->seen + AHEAD)
		return SCHEDULE_WAIT;
	if (schedule->epochs.on)
		return choose_epoch(schedule, trace, left_s, ask);
	return schedule_settled(schedule,
				schedule_choose(schedule, trace, left_s, ask));
}

/* What a window that is asked for takes. */
static double schedule_takes_s(const struct schedule *schedule,
			       const struct trace *trace,
			       const struct trace_window *ask)
{
	double step = window_cost_step_s(&schedule->pace, ask->kind);

	if (ask->flags & TRACE_EPOCH)
		return epochs_window_s(&trace->loader, step);
	return window_cost_switch_s(&schedule->pace) +
	       fmax((double)ask->length_ns * 1e-9, ask->min_steps * step);
}

/* What windows take that were asked for and are not done; *gets: objects they may want. */
static double pending_s(const struct schedule *schedule, const struct trace *trace,
			double *gets)
{
	double seconds = 0;

	*gets = 0;
	for (unsigned i = schedule->seen; i < schedule->asked; i++) {
		double takes = schedule_takes_s(schedule, trace, &trace->windows[i]);

		seconds += takes;
		*gets += request_budget_of(&schedule->requests, &trace->loader,
					   &trace->windows[i], takes);
	}
	return seconds;
}

/* How long so many objects last, at the pace so far. */
static double requests_s(const struct schedule *schedule, double gets, double elapsed_s)
{
	return schedule->requests.gets > 0
		       ? gets * elapsed_s / (double)schedule->requests.gets
		       : INFINITY;
}

/* Whether a window might want more objects than there are. */
static bool wants_too_many(const struct schedule *schedule, const struct trace *trace,
			   const struct trace_window *ask, double gets)
{
	double takes;

	if (isinf(gets))
		return false;
	takes = schedule_takes_s(schedule, trace, ask);
	return request_budget_of(&schedule->requests, &trace->loader, ask, takes) >
	       gets;
}

/* The next window that asks for no more objects than there are: extras that would are left
 * out, anything else is the end. */
static enum schedule_step schedule_decide_within(struct schedule *schedule,
						 const struct trace *trace,
						 double left_s, double gets,
						 struct trace_window *ask)
{
	enum schedule_step step = SCHEDULE_WAIT;
	bool more = !schedule->requests_spent;

	while (more) {
		step = schedule_decide(schedule, trace, left_s, ask);
		more = step == SCHEDULE_ASK &&
		       wants_too_many(schedule, trace, ask, gets);
		if (!more || is_extra(ask))
			continue;
		schedule->requests_spent = true;
		more = false;
	}
	schedule->requests_spent |= step == SCHEDULE_OUT && schedule->requests_short;
	if (!schedule->requests_spent)
		return step;
	return schedule->seen < schedule->asked ? SCHEDULE_WAIT : SCHEDULE_REQUESTS;
}

enum schedule_step schedule_next(struct schedule *schedule, const struct trace *trace,
				 double elapsed_s, struct trace_window *ask)
{
	enum schedule_step step;
	double left_s, pending_gets, gets, last_s;

	if (schedule_look(schedule, trace) < 0)
		return SCHEDULE_OUT;
	left_s = schedule->config.budget_s - elapsed_s -
		 pending_s(schedule, trace, &pending_gets);
	gets = request_budget_left(trace) - pending_gets;
	last_s = requests_s(schedule, gets, elapsed_s);
	schedule->requests_short = last_s < left_s;
	step = schedule_decide_within(schedule, trace, fmin(left_s, last_s), gets, ask);
	schedule->asked += step == SCHEDULE_ASK;
	return step;
}
