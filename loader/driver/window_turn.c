/* window_turn.c - picks and prepares the pipeline's turn for a window. */
#include "loader/driver/driver_state.h"
#include "loader/fetch.h"
#include "loader/pipeline.h"
#include "loader/ring.h"
#include "loader/source.h"

#include <errno.h>

enum { EVICT = 4096 }; /* files put out of the page cache before a cold window */

/* Discards what is published and not taken: those samples go back to the stream. */
static void driver_discard(const struct driver *driver)
{
	uint32_t slot;

	if (driver->parts.reader == NULL)
		return; /* a shared loader: its jobs discard it */
	while (ring_take(driver->parts.reader, 0, &slot) == 0)
		ring_release(driver->parts.reader, slot);
}

void turn_end(struct driver *driver)
{
	pipeline_stop(driver->parts.pipeline);
	driver_discard(driver);
	driver->real = false;
	driver->synthetic = false;
	driver->delivers = false;
	driver->metered = false;
}

void turn_real(struct driver *driver)
{
	struct pipeline_turn turn = {.ops = &turn_stream};

	if (driver->real)
		return;
	if (follows(driver)) {
		driver->turn = 0; /* any batch will do */
	} else {
		turn_end(driver);
		turn.number = ++driver->turn;
		pipeline_start(driver->parts.pipeline, &turn);
		driver->delivers = true;
	}
	driver->real = true;
}

static uint64_t stage_limit(const struct trace_window *window)
{
	uint64_t limit = 2 * window->length_ns;

	return limit > 2000 * MS ? limit : 2000 * MS;
}

static int driver_stage(struct driver *driver)
{
	struct trace_window *window = driver->window;

	window->staged = pipeline_stage(driver->parts.pipeline, window->stage,
					stage_limit(window));
	return window->staged > 0 ? 0 : -EIO;
}

static void driver_evict(const struct driver *driver)
{
	if (!fetch_facts(pipeline_fetch(driver->parts.pipeline)).direct)
		pipeline_evict(driver->parts.pipeline, EVICT);
}

/* Prepares the synthetic batches, once, in a turn of their own. A shared loader needs
 * none: it publishes again what it has. */
static int turn_make_pool(struct driver *driver)
{
	int result;

	if (driver->parts.reader == NULL || driver->pool_reader != NULL)
		return 0;
	result = pool_make(driver);
	turn_end(driver);
	return result;
}

/* What the window needs before its turn can begin, and the turn. */
static int prepare_real(struct driver *driver, struct pipeline_turn *turn)
{
	struct trace_window *window = driver->window;

	if ((window->flags & TRACE_DRAW) != 0) {
		turn->ops = &turn_drawn;
		turn->hit = window->hit;
		if (driver_stage(driver) < 0)
			return -EIO;
		driver_evict(driver); /* after staging, which reads some of them */
		return 0;
	}
	turn->ops = &turn_stream;
	pipeline_stage(driver->parts.pipeline, 0, 0);
	if ((window->flags & TRACE_WARM) != 0)
		window->staged = pipeline_warm(driver->parts.pipeline, window->stage,
					       stage_limit(window));
	return 0;
}

int turn_prepare(struct driver *driver, struct pipeline_turn *turn)
{
	struct trace_window *window = driver->window;

	turn->number = ++driver->turn;
	turn->workers = window->workers;
	turn->depth = window->depth;
	switch ((enum trace_kind)window->kind) {
	case TRACE_REAL:
		return prepare_real(driver, turn);
	case TRACE_CACHED:
		turn->ops = &turn_staged;
		return driver_stage(driver);
	case TRACE_LOADED:
		turn->metered = true;
		turn->ops = &turn_prep;
		if (turn_make_pool(driver) < 0)
			return -ENOMEM;
		return driver_stage(driver);
	case TRACE_PREP:
		turn->ops =
			(window->flags & TRACE_PAIRED) != 0 ? &turn_paired : &turn_prep;
		return driver_stage(driver);
	case TRACE_FETCH:
		turn->ops = &turn_fetch;
		turn->unthrottled = (window->flags & TRACE_UNTHROTTLED) != 0;
		driver_evict(driver);
		return 0;
	case TRACE_SYNTHETIC: /* no turn: the pipeline rests */
		return turn_make_pool(driver);
	case TRACE_FILL:
	case TRACE_KINDS:
		break;
	}
	return -EINVAL;
}

uint64_t turn_unread(const struct driver *driver)
{
	uint64_t count = source_count(driver->parts.source);

	if (fetch_facts(pipeline_fetch(driver->parts.pipeline)).direct)
		return UINT32_MAX;
	return (count < EVICT ? count : EVICT) * 3 / 4;
}
