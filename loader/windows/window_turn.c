/* window_turn.c - picks and prepares the pipeline's turn for a window. */
#include "loader/fetch.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/source.h"
#include "loader/windows/windows_state.h"

#include <errno.h>

enum { EVICT = 4096 }; /* files put out of the page cache before a cold window */

/* Discards what is published and not taken: those samples go back to the stream. */
static void turn_discard(const struct windows *windows)
{
	uint32_t slot;

	if (windows->parts.reader == NULL)
		return; /* a shared loader: its jobs discard it */
	while (ring_take(windows->parts.reader, 0, &slot) == 0)
		ring_release(windows->parts.reader, slot);
}

void turn_end(struct windows *windows)
{
	pipeline_stop(windows->parts.pipeline);
	turn_discard(windows);
	windows->synthetic = false;
	windows->copies = false;
	windows->ahead_count = 0; /* their twins hold what they held before */
	windows->metered = false;
}

void turn_real(struct windows *windows)
{
	const struct pipeline_turn turn = {.ops = &turn_stream,
					   .number = ++windows->turn};

	pipeline_start(windows->parts.pipeline, &turn);
}

static uint64_t stage_limit(const struct trace_window *window)
{
	uint64_t limit = 2 * window->length_ns;

	return limit > 2000 * MS ? limit : 2000 * MS;
}

static int turn_stage(const struct windows *windows, struct trace_window *window)
{
	window->staged = pipeline_stage(windows->parts.pipeline, window->stage,
					stage_limit(window));
	return window->staged > 0 ? 0 : -EIO;
}

static void turn_evict(const struct windows *windows)
{
	if (!fetch_facts(pipeline_fetch(windows->parts.pipeline)).direct)
		pipeline_evict(windows->parts.pipeline, EVICT);
}

/* Prepares the synthetic batches, once, in a turn of their own. A shared loader needs
 * none: it publishes again what it has. */
static int turn_make_pool(struct windows *windows)
{
	int result;

	if (windows->parts.reader == NULL || windows->pool_reader != NULL)
		return 0;
	ring_in_memory(windows->parts.ring, true); /* only the pool's twins are used */
	result = pool_make(windows);
	turn_end(windows);
	ring_in_memory(windows->parts.ring, false);
	return result;
}

/* What the window needs before its turn can begin, and the turn. */
static int prepare_real(const struct windows *windows, struct trace_window *window,
			struct pipeline_turn *turn)
{
	if ((window->flags & TRACE_DRAW) != 0) {
		turn->ops = &turn_drawn;
		turn->hit = window->hit;
		if (turn_stage(windows, window) < 0)
			return -EIO;
		pipeline_keep_staged(windows->parts.pipeline);
		turn_evict(windows); /* after staging, which reads some of them */
		return 0;
	}
	turn->ops = &turn_stream;
	pipeline_stage(windows->parts.pipeline, 0, 0);
	pipeline_hold(windows->parts.pipeline, stage_limit(window));
	if ((window->flags & TRACE_WARM) != 0)
		window->staged = pipeline_warm(windows->parts.pipeline, window->stage,
					       stage_limit(window));
	return 0;
}

/* Fills the turn that the window wants, and stages or evicts what that needs. 0 or
 * -errno. */
static int turn_prepare(struct windows *windows, struct trace_window *window,
			struct pipeline_turn *turn)
{
	switch ((enum trace_kind)window->kind) {
	case TRACE_REAL:
		return prepare_real(windows, window, turn);
	case TRACE_CACHED:
		turn->ops = &turn_staged;
		return turn_stage(windows, window);
	case TRACE_LOADED:
		turn->metered = true;
		turn->ops = &turn_prep;
		if (turn_make_pool(windows) < 0)
			return -ENOMEM;
		return turn_stage(windows, window);
	case TRACE_PREP:
		turn->ops =
			(window->flags & TRACE_PAIRED) != 0 ? &turn_paired : &turn_prep;
		return turn_stage(windows, window);
	case TRACE_FETCH:
		turn->ops = &turn_fetch;
		turn->unthrottled = (window->flags & TRACE_UNTHROTTLED) != 0;
		turn_evict(windows);
		return 0;
	case TRACE_SYNTHETIC: /* no turn: the pipeline rests */
		return turn_make_pool(windows);
	case TRACE_COPIED:
		return windows->parts.gpu == NULL ? -ENOTSUP : turn_make_pool(windows);
	case TRACE_FILL:
	case TRACE_KINDS:
		break;
	}
	return -EINVAL;
}

int turn_begin(struct windows *windows, struct trace_window *window)
{
	struct pipeline_turn turn = {
		.workers = window->workers,
		.depth = window->depth,
		.number = ++windows->turn,
	};
	int result;

	if ((window->flags & TRACE_WARMUP) == 0)
		pipeline_depth_hold(windows->parts.pipeline);
	result = turn_prepare(windows, window, &turn);
	if (result < 0)
		return result;
	if (turn.ops != NULL)
		pipeline_start(windows->parts.pipeline, &turn);
	windows->copies = window->kind == TRACE_COPIED;
	windows->synthetic = window->kind == TRACE_SYNTHETIC ||
			     window->kind == TRACE_LOADED || windows->copies;
	windows->metered = turn.metered;
	if (windows->parts.reader == NULL)
		window->turn = turn.number;
	return turn.ops == &turn_stream;
}

uint64_t turn_unread(const struct windows *windows)
{
	uint64_t count = source_count(windows->parts.source);

	if (fetch_facts(pipeline_fetch(windows->parts.pipeline)).direct)
		return UINT32_MAX;
	return (count < EVICT ? count : EVICT) * 3 / 4;
}
