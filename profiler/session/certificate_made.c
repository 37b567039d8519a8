/* certificate_made.c - the checks of windows of a loader that the program brought. */
#include "profiler/session/certificate_made.h"

#include <inttypes.h>
#include <math.h>

/* Shares: of the bytes that a warm page cache may lack, of a window's time that copying
 * may take, of the bytes that readahead may bring beyond those that were evicted. */
#define COLD_SHARE   .01
#define RENEW_SHARE  .01
#define BEYOND_SHARE .15

/* Standard errors that drawn files may be off, as a window has not all of the list. */
#define DRAWN_CHANCE 3

/* A read takes whole blocks, and may take one more at each end of a file. */
#define BLOCK_BYTES 8192

/* Copies that the program changed cost little; false writes what they did. */
static bool made_cheaply(struct window *window)
{
	double renewed = (double)window->raw->made.renewed_ns * 1e-9 / window->seconds;

	return renewed <= RENEW_SHARE ||
	       window_judge(
		       window, false,
		       "void: copying what the program had changed took %.1f %% of "
		       "its time",
		       100 * renewed);
}

static bool made_synthetic(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (made->batches > 0 || made->lost > 0)
		return window_judge(window, false, "void: %u batches were made",
				    made->batches + made->lost);
	if (!made_cheaply(window))
		return false;
	return window_judge(window, true, "no batch made in %.0f samples",
			    window->samples);
}

/* How its batches read what no call shows. */
static const char *made_unseen(const struct window *window)
{
	uint32_t unseen = window->raw->made.unseen;

	if (unseen & TRACE_MAPPED)
		return "mapped files";
	return unseen & TRACE_SOCKET ? "connections" : "processes that are started";
}

/* The same files as when they were listed; false writes why not. */
static bool made_alike(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (made->unseen != 0)
		return window_judge(
			window, false,
			"void: its batches come from %s, too, which can't be "
			"brought into memory or out of it",
			made_unseen(window));
	if (made->lost > 0)
		return window_judge(window, false,
				    "void: what %u batches took was not recorded",
				    made->lost);
	if (made->other > 0)
		return window_judge(
			window, false,
			"void: %u of %u batches opened or read something else "
			"than the first time",
			made->other, made->batches);
	return true;
}

static bool made_warm(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	bool warm = (double)made->storage_bytes <= COLD_SHARE * (double)made->bytes;

	if (!made_alike(window))
		return false;
	if (made->bytes == 0)
		return window_judge(window, true, "no file read in %u batches",
				    made->batches);
	return window_judge(
		window, warm,
		"%s%" PRIu64 " of %" PRIu64 " bytes of %u batches came from storage",
		warm ? "" : "void: ", made->storage_bytes, made->bytes, made->batches);
}

/* Bytes that the batches ought to have read from storage; *slack: and by how much this may
 * be off. */
static double made_expected(const struct window *window, double *slack)
{
	const struct trace_made *made = &window->raw->made;
	double missing = made->listed_bytes > made->begin_resident
				 ? (double)(made->listed_bytes - made->begin_resident)
				 : 0;
	double expected = (double)made->bytes * missing / (double)made->listed_bytes;
	double file = (double)made->bytes / fmax(1, made->opens);
	double chance = sqrt(made->opens * window->hit * (1 - window->hit));

	*slack = BEYOND_SHARE * expected + DRAWN_CHANCE * file * chance +
		 (double)made->opens * BLOCK_BYTES;
	return expected;
}

static bool made_drawn(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	double expected, slack, off;

	if (!made_alike(window))
		return false;
	if (made->begin_resident == UINT64_MAX || made->listed_bytes == 0)
		return window_judge(window, false,
				    "void: what lies in memory is not known");
	expected = made_expected(window, &slack);
	off = (double)made->storage_bytes - expected;
	return window_judge(window, fabs(off) <= slack,
			    "%s%" PRIu64 " of %" PRIu64
			    " bytes came from storage, %.0f were evicted",
			    fabs(off) <= slack ? "" : "void: ", made->storage_bytes,
			    made->bytes, expected);
}

/* Batches that can't be given again have no first time. */
static bool made_stream(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	return window_judge(window, made->lost == 0,
			    "%s%u batches of the stream as it comes, %u not recorded",
			    made->lost == 0 ? "" : "void: ", made->batches, made->lost);
}

static bool made_loaded(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	bool listed = window->trace->loader.no_list[0] == '\0';

	if (made->batches == 0)
		return window_judge(window, false,
				    "void: no batches were made beside all of it");
	if (!made_cheaply(window) || (listed && !made_warm(window)))
		return false;
	return window_judge(window, true, "%u batches made beside it and thrown away",
			    made->batches);
}

static bool made_slowed(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	bool listed = window->trace->loader.no_list[0] == '\0';

	if (made->unseen != 0)
		return window_judge(window, false,
				    "void: the emulated storage does not act on %s",
				    made_unseen(window));
	if (listed ? !made_alike(window) : !made_stream(window))
		return false;
	if (window->trace->loader.kind == TRACE_WATCH &&
	    window_counted(window->raw, TRACE_fetched_bytes) == 0)
		return window_judge(window, false,
				    "void: no file was seen to be read, on which the "
				    "emulated storage could act");
	return window_judge(window, made->throttled > 0 || made->opens == 0,
			    "%s%" PRIu64
			    " calls held back by the emulated storage in %u batches",
			    made->throttled > 0 || made->opens == 0 ? "" : "void: ",
			    made->throttled, made->batches);
}

static bool made_real(struct window *window)
{
	const struct trace_loader *loader = &window->trace->loader;

	if (window->raw->flags & TRACE_WARMUP)
		return window_judge(window, true, "the program as it began");
	if (window->trace->observe)
		return window_judge(window, true, "observed");
	if (loader->storage_bandwidth > 0 || loader->storage_latency > 0)
		return made_slowed(window);
	if (loader->no_list[0] != '\0')
		return made_stream(window);
	return window->raw->flags & TRACE_DRAW ? made_drawn(window) : made_warm(window);
}

bool certificate_made(struct window *window)
{
	static bool (*const checks[TRACE_KINDS])(struct window *) = {
		[TRACE_REAL] = made_real,           [TRACE_CACHED] = made_warm,
		[TRACE_PREP] = made_warm,           [TRACE_LOADED] = made_loaded,
		[TRACE_SYNTHETIC] = made_synthetic,
	};

	if (window->kind >= TRACE_KINDS || checks[window->kind] == NULL)
		return window_judge(window, false,
				    "void: of no kind that can be proven");
	return checks[window->kind](window);
}
