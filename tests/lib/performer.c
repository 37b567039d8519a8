/* performer.c - does windows as a program would whose steps take so long. */
#include "tests/lib/performer.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

const struct schedule_config performer_usual = {
	.budget_s = 60,
	.precision = .01,
	.only = -1,
	.memory_bytes = 1 << 30,
	.cache_bytes = 1 << 30,
};

struct performer performer_new(const struct schedule_config *config)
{
	struct performer performer = {
		.schedule = schedule_new(config),
		.trace = session_new(),
		.random = {3},
		.noise = .01,
		.step_ms = {[TRACE_REAL] = 20,
			    [TRACE_CACHED] = 15,
			    [TRACE_SYNTHETIC] = 10,
			    [TRACE_COPIED] = 12,
			    [TRACE_LOADED] = 11,
			    [TRACE_PREP] = 14,
			    [TRACE_FETCH] = 18},
	};

	assert_true(performer.schedule != NULL && performer.trace != NULL);
	return performer;
}

void performer_free(struct performer *performer)
{
	schedule_free(performer->schedule);
	session_free(performer->trace);
}

double performer_elapsed(const struct performer *performer)
{
	const struct trace *trace = performer->trace;

	return (double)(trace->last_request_ns - trace->created_ns) * 1e-9;
}

static unsigned whole_epochs(const struct trace *trace, unsigned steps)
{
	unsigned epoch = (unsigned)trace->loader.steps_per_epoch;

	return (steps + epoch - 1) / epoch * epoch;
}

static void perform(struct performer *performer, struct trace_window *window)
{
	struct session_window did = {.samples = PERFORMER_BATCH};
	double length_ms = (double)window->length_ns * 1e-6;
	double unit = performer->steady[window->kind]
			      ? 0
			      : random_unit(&performer->random) - .5;

	did.step_ms =
		performer->step_ms[window->kind] * (1 + performer->noise * 3.46 * unit);
	did.steps = (unsigned)fmax(fmax(ceil(length_ms / did.step_ms), 1),
				   window->min_steps);
	if (window->flags & TRACE_EPOCH)
		did.steps = whole_epochs(performer->trace, did.steps);
	if (window->kind == TRACE_FETCH || window->kind == TRACE_REAL)
		did.fetched = did.steps * PERFORMER_BATCH;
	if (window->flags & TRACE_WARM)
		did.fetched = 0;
	if (window->kind == TRACE_COPIED)
		did.copied_bytes = did.steps * PERFORMER_BATCH * PERFORMER_SENT;
	else if (window->kind != TRACE_FETCH && window->kind != TRACE_SYNTHETIC)
		did.prepared = did.steps * PERFORMER_BATCH;
	if (window->kind == TRACE_REAL || window->kind == TRACE_CACHED)
		did.blocked_ms = did.step_ms - 10;
	session_answer(performer->trace, window, &did);
	window->staged = window->stage;
	window->end.cache_bytes = (uint64_t)(performer->filled * 1e8);
	window->made.batches = window->kind != TRACE_SYNTHETIC;
}

/* Others use half of all CPU time, and leave none idle. */
static void disturb(const struct performer *performer, unsigned index)
{
	bool quiet = performer->quiet_every > 0 ? index % performer->quiet_every == 0
						: performer_elapsed(performer) >=
							  performer->disturbed_until;

	if (!quiet)
		performer->trace->loads[index] = (struct trace_load){
			.length_ns = 1000000000,
			.cpu_ns = 2000000000,
			.own_ns = 1000000000,
			.others_ns = 1000000000,
			.queue_ns = UINT64_MAX,
		};
}

bool performer_is_disturbed(const struct trace *trace, unsigned index)
{
	return trace->loads[index].length_ns > 0;
}

void performer_do(struct performer *performer)
{
	struct trace *trace = performer->trace;
	struct trace_window *window = &trace->windows[trace->window_now];

	assert_true(trace->window_now < trace->window_count);
	disturb(performer, trace->window_now);
	perform(performer, window);
	if (performer->void_every > 0 && window->kind == performer->void_kind &&
	    ++performer->done % performer->void_every == 0)
		window->end.read_bytes += 1 << 30;
}

enum schedule_step performer_next(struct performer *performer)
{
	struct trace *trace = performer->trace;
	struct trace_window ask;
	enum schedule_step step = schedule_next(performer->schedule, trace,
						performer_elapsed(performer), &ask);

	if (step == SCHEDULE_ASK) {
		assert_true(trace->window_count < TRACE_WINDOWS);
		trace->windows[trace->window_count++] = ask;
	} else if (step == SCHEDULE_WAIT) {
		performer_do(performer);
	}
	return step;
}

enum schedule_step performer_run(struct performer *performer)
{
	enum schedule_step step;

	do
		step = performer_next(performer);
	while (step == SCHEDULE_ASK || step == SCHEDULE_WAIT);
	return step;
}

unsigned performer_count(const struct trace *trace, enum trace_kind kind)
{
	unsigned count = 0;

	for (unsigned i = 0; i < trace->window_count; i++)
		count += trace->windows[i].kind == kind;
	return count;
}
