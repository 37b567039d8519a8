/* schedule_again.c - asks once more for windows that are void, or disturbed. */
#include "profiler/schedule/schedule_state.h"

#include <string.h>

enum {
	VOID_IN_A_ROW = 6,  /* of one kind: it will not get better; */
	VOID_IN_SINGLE = 3, /* of a single block; */
	VOID_LOADED = 3     /* loaded ones, which are asked for again */
};

/* A request as it was, without the answer. */
static struct trace_window request_of(const struct trace_window *raw)
{
	return (struct trace_window){
		.kind = raw->kind,
		.flags = raw->flags,
		.block = raw->block,
		.workers = raw->workers,
		.depth = raw->depth,
		.settle = raw->settle,
		.min_steps = raw->min_steps,
		.hit = raw->hit,
	};
}

void schedule_note_void(struct schedule *schedule, const struct window *window)
{
	memcpy(schedule->why, window->why, sizeof(schedule->why));
	schedule->voids[window->kind]++;
	if (schedule->again_count < SCHEDULE_AGAINS)
		schedule->again[schedule->again_count++] = request_of(window->raw);
}

void schedule_note_loaded(struct schedule *schedule, const struct window *window)
{
	struct curve_windows *extras = &schedule->extras;

	if (!window->certified && schedule->loaded_again < VOID_LOADED &&
	    extras->count < EXTRAS) {
		extras->asks[extras->count++] = request_of(window->raw);
		schedule->loaded_again++;
	}
}

bool schedule_given_up(const struct schedule *schedule)
{
	unsigned most = schedule_is_single(schedule) ? VOID_IN_SINGLE : VOID_IN_A_ROW;

	for (unsigned i = 0; i < TRACE_KINDS; i++)
		if (schedule->voids[i] >= most)
			return true;
	return false;
}

/* ---- disturbed ones ---- */

static bool is_disturbed(const struct window *window)
{
	return window->certified && window->disturbance > 0;
}

static bool is_of_curve(const struct trace_window *raw)
{
	return raw->block >= TRACE_WINDOWS && raw->kind != TRACE_FILL &&
	       (raw->flags & TRACE_WARMUP) == 0;
}

/* True when it was, or will be, measured so that nobody disturbed it. */
static bool is_replaced(const struct schedule *schedule, const struct trace *trace,
			const struct trace_window *raw)
{
	for (unsigned i = 0; i < schedule->asked; i++)
		if (window_is_alike(raw, &trace->windows[i]) &&
		    (i >= schedule->seen || (schedule->windows[i].certified &&
					     !is_disturbed(&schedule->windows[i]))))
			return true;
	return false;
}

/* The first, of blocks or of curves, that is still to be replaced; NULL: there is none,
 * or no hope. A single block has no budget that more windows could be within. */
static const struct trace_window *find_disturbed(const struct schedule *schedule,
						 const struct trace *trace, bool curves)
{
	if (schedule->disturbed || schedule_is_single(schedule))
		return NULL;
	for (unsigned i = 0; i < schedule->seen; i++) {
		const struct trace_window *raw = &trace->windows[i];

		if ((curves ? is_of_curve(raw) : raw->block < TRACE_WINDOWS) &&
		    is_disturbed(&schedule->windows[i]) &&
		    !is_replaced(schedule, trace, raw))
			return raw;
	}
	return NULL;
}

static bool ask_disturbed(const struct schedule *schedule, const struct trace *trace,
			  double left_s, struct trace_window *ask)
{
	const struct trace_window *raw = find_disturbed(schedule, trace, false);

	if (raw == NULL || schedule_window_s(schedule, raw->kind) > left_s)
		return false;
	*ask = request_of(raw);
	return true;
}

void schedule_repeat_curve(struct schedule *schedule, const struct trace *trace)
{
	const struct trace_window *raw = NULL;

	if (schedule->extras.next == schedule->extras.count)
		raw = find_disturbed(schedule, trace, true);
	if (raw != NULL && schedule->extras.count < EXTRAS)
		schedule->extras.asks[schedule->extras.count++] = request_of(raw);
}

bool schedule_ask_again(struct schedule *schedule, const struct trace *trace,
			double left_s, struct trace_window *ask)
{
	if (schedule->again_count > 0)
		*ask = schedule->again[--schedule->again_count];
	else if (!ask_disturbed(schedule, trace, left_s, ask))
		return false;
	ask->flags &= TRACE_WARMUP; /* set anew */
	schedule_set_block(schedule, trace, ask, left_s);
	return true;
}
