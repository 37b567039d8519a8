/* disturbance.c - decides what a busy machine leaves of a run's windows. */
#include "profiler/session/disturbance.h"

#include <math.h>
#include <stdlib.h>

#define CPU_OTHERS .05 /* of the cores' time, */
#define CPU_BUSY   .8 /* while so much is used: threads that wait for others leave some */
#define CPU_WAITED .01  /* of the time, at least: threads always wait a little */
#define READ_SHARE .1   /* of the run's own reads */
#define TICKS_NS   20e6 /* CPU time that the kernel's clock ticks may miss */
#define LEAST_READ 1e6  /* bytes; a window that reads less does not wait for storage */

enum { BLOCKS_LEAST = 2 /* that show a spread */ };

static double cpu_disturbance(const struct trace_load *load)
{
	double there = (double)load->cpu_ns;
	double others = (double)load->others_ns + (double)load->steal_ns;
	double used = (double)load->own_ns + others;
	double waited = (double)load->steal_ns / used +
			(double)load->queue_ns / (double)load->length_ns;

	if (load->others_ns == UINT64_MAX || load->steal_ns == UINT64_MAX ||
	    load->own_ns == UINT64_MAX || others <= CPU_OTHERS * there + TICKS_NS ||
	    used < CPU_BUSY * there)
		return 0;
	if (load->queue_ns == UINT64_MAX)
		return others / used;
	return waited < CPU_WAITED ? 0 : fmin(others / used, waited);
}

bool disturbance_reads(const struct trace_load *load)
{
	return load->own_bytes != UINT64_MAX && load->others_bytes != UINT64_MAX &&
	       (double)load->own_bytes >= LEAST_READ;
}

static double read_disturbance(const struct trace_load *load)
{
	double own = (double)load->own_bytes, others = (double)load->others_bytes;

	if (!disturbance_reads(load) || others <= READ_SHARE * own)
		return 0;
	return others / (own + others);
}

double disturbance_of(const struct trace_load *load)
{
	double cpu = cpu_disturbance(load), read = read_disturbance(load);

	return load->length_ns == 0 ? 0 : cpu > read ? cpu : read;
}

/* ---- of all windows of a run ---- */

/* Kinds of windows of each block, a bit each: all, and those that nobody disturbed. */
struct kinds {
	uint8_t all[TRACE_WINDOWS], quiet[TRACE_WINDOWS];
	unsigned windows, disturbed;
};

static bool in_block(const struct window *window)
{
	return window->certified && window->block >= 0 &&
	       (window->flags & TRACE_WARMUP) == 0;
}

static void disturbance_count_kinds(const struct window *windows, size_t count,
				    struct kinds *kinds)
{
	for (size_t i = 0; i < count; i++) {
		const struct window *window = &windows[i];
		bool disturbed = window->disturbance > 0;
		uint8_t kind;

		if (!in_block(window))
			continue;
		kind = (uint8_t)(1u << window->kind);
		kinds->windows++;
		kinds->disturbed += disturbed;
		kinds->all[window->block] |= kind;
		if (!disturbed)
			kinds->quiet[window->block] |= kind;
	}
}

/* Blocks that have all of these kinds. */
static unsigned count_whole(const uint8_t kinds[TRACE_WINDOWS], uint8_t wanted)
{
	unsigned whole = 0;

	for (unsigned i = 0; i < TRACE_WINDOWS; i++)
		whole += kinds[i] != 0 && (kinds[i] & wanted) == wanted;
	return whole;
}

/* True when blocks without disturbed windows are enough. */
static bool are_enough(const struct kinds *kinds)
{
	uint8_t wanted = 0;
	unsigned all, quiet;

	for (unsigned i = 0; i < TRACE_WINDOWS; i++)
		wanted |= kinds->all[i];
	all = count_whole(kinds->all, wanted);
	quiet = count_whole(kinds->quiet, wanted);
	return quiet == all || (quiet >= BLOCKS_LEAST && 2 * quiet >= all);
}

/* True when another window of the same point of a curve was not disturbed. */
static bool disturbance_has_double(const struct window *window,
				   const struct window *windows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (windows[i].certified && windows[i].disturbance <= 0 &&
		    window_is_alike(windows[i].raw, window->raw))
			return true;
	return false;
}

bool disturbance_judge(struct window *windows, size_t count)
{
	struct kinds kinds = {.windows = 0};
	bool most, all_stay;

	for (size_t i = 0; i < count; i++)
		windows[i].disturbance = disturbance_of(window_load(&windows[i]));
	disturbance_count_kinds(windows, count, &kinds);
	most = 2 * kinds.disturbed > kinds.windows;
	all_stay = most || !are_enough(&kinds);
	for (size_t i = 0; i < count; i++) {
		struct window *window = &windows[i];

		window->left_out =
			window->disturbance > 0 &&
			(window->block >= 0
				 ? !all_stay
				 : disturbance_has_double(window, windows, count));
	}
	return most;
}

struct window *disturbance_windows(const struct trace *trace, size_t *count)
{
	struct window *windows;

	*count = window_count(trace);
	windows = calloc(*count + 1, sizeof(*windows));
	for (size_t i = 0; windows != NULL && i < *count; i++)
		window_measure(trace, (unsigned)i, &windows[i]);
	if (windows != NULL)
		disturbance_judge(windows, *count);
	return windows;
}
