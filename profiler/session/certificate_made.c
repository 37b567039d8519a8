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

/* Four pages, which a program may fault in of its own in a window. */
#define OWN_BYTES 16384

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

/* All that its batches read was seen; false writes what was not. */
static bool made_seen(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (made->unseen == TRACE_CALLS)
		return window_judge(
			window, false,
			"void: its batches are read by calls that are not seen, such "
			"as those of io_uring: %" PRIu64 " bytes from storage, %" PRIu64
			" of %" PRIu64 " seen",
			made->storage_bytes, made->seen_bytes, made->proc_bytes);
	if (made->unseen != 0)
		return window_judge(
			window, false,
			"void: its batches come from %s, too, which can't be "
			"brought into memory or out of it",
			window_unseen(made->unseen));
	return true;
}

/* What its steps took was made in it; false writes that it was not seen. */
static bool made_any(struct window *window)
{
	return window->raw->made.batches > 0 ||
	       window_judge(window, false,
			    "void: no batch was seen to be made for its %.0f samples",
			    window->samples);
}

/* The same files as when they were listed; false writes why not. */
static bool made_alike(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (!made_seen(window))
		return false;
	if (made->unlisted > 0)
		return window_judge(window, false,
				    "void: its list has no room for %u parts of the "
				    "files that its batches read",
				    made->unlisted);
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
	return made_any(window);
}

/* What came from storage is none that was read. */
static bool made_unread(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (made->storage_bytes > 0)
		return window_judge(window, false,
				    "void: no file was seen to be read, but %" PRIu64
				    " bytes came from storage",
				    made->storage_bytes);
	return window_judge(window, true, "no file read in %u batches", made->batches);
}

/* Its list lay in memory at both ends, where the kernel says so; false writes that it did
 * not. */
static bool made_resident(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	bool ends = made->end_resident < made->begin_resident;
	uint64_t least = ends ? made->end_resident : made->begin_resident;

	return least == UINT64_MAX ||
	       (double)least >= (1 - COLD_SHARE) * (double)made->listed_bytes ||
	       window_judge(window, false,
			    "void: as it %s only %" PRIu64 " of %" PRIu64
			    " bytes of its files lay in memory, though all had been "
			    "read",
			    ends ? "ended" : "began", least, made->listed_bytes);
}

/* Bytes that may have come from storage. Where the files are known to lie in memory, those
 * few are none of them. */
static double made_cold(const struct trace_made *made)
{
	bool known = made->begin_resident != UINT64_MAX;

	return fmax(COLD_SHARE * (double)made->bytes, known ? OWN_BYTES : 0);
}

static bool made_warm(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	bool warm = (double)made->storage_bytes <= made_cold(made);

	if (!made_alike(window))
		return false;
	if (made->bytes == 0)
		return made_unread(window);
	if (warm && !made_resident(window))
		return false;
	return window_judge(
		window, warm,
		"%s%" PRIu64 " of %" PRIu64 " bytes of %u batches came from storage",
		warm ? "" : "void: ", made->storage_bytes, made->bytes, made->batches);
}

/* Bytes of the list that did not lie in memory. To who neither owns files nor may write
 * them the kernel does not say that: then those that were to be evicted, as what came from
 * storage shows whether they were. */
static uint64_t made_missing(const struct trace_made *made)
{
	if (made->begin_resident == UINT64_MAX)
		return made->evicted_bytes;
	return made->listed_bytes > made->begin_resident
		       ? made->listed_bytes - made->begin_resident
		       : 0;
}

/* Bytes that the batches ought to have read from storage; *slack: and by how much this may
 * be off. */
static double made_expected(const struct window *window, double *slack)
{
	const struct trace_made *made = &window->raw->made;
	double missing = (double)made_missing(made);
	double expected = (double)made->bytes * missing / (double)made->listed_bytes;
	double file = (double)made->bytes / fmax(1, made->opens);
	double chance = sqrt(made->opens * window->hit * (1 - window->hit));

	*slack = BEYOND_SHARE * expected + DRAWN_CHANCE * file * chance +
		 (double)made->opens * BLOCK_BYTES;
	return expected;
}

/* Bytes that its batches read from storage. Of file systems that do not say so: by what came
 * into memory, where both ends are known. */
static uint64_t made_fetched(const struct trace_made *made)
{
	bool known = made->end_resident != UINT64_MAX &&
		     made->end_resident > made->begin_resident;

	return made->storage_bytes == 0 && known
		       ? made->end_resident - made->begin_resident
		       : made->storage_bytes;
}

static bool made_drawn(struct window *window)
{
	const struct trace_made *made = &window->raw->made;
	uint64_t fetched = made_fetched(made);
	double expected, slack, off;

	if (!made_alike(window))
		return false;
	if (made->bytes == 0 || made->listed_bytes == 0)
		return made_unread(window);
	expected = made_expected(window, &slack);
	off = (double)fetched - expected;
	return window_judge(window, fabs(off) <= slack,
			    "%s%" PRIu64 " of %" PRIu64
			    " bytes came from storage, %.0f were evicted",
			    fabs(off) <= slack ? "" : "void: ", fetched, made->bytes,
			    expected);
}

/* Where lists were given up, what was measured of them does not count. */
static bool made_listed(struct window *window)
{
	return window_judge(window, false, "void: batches of %.*s can't be given again",
			    TRACE_NO_LIST - 1, window->trace->loader.no_list);
}

/* Batches that can't be given again have no first time. */
static bool made_stream(struct window *window)
{
	const struct trace_made *made = &window->raw->made;

	if (made->listed_bytes > 0)
		return made_listed(window);
	if (made->lost == 0 && !made_any(window))
		return false;
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
				    window_unseen(made->unseen));
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

static bool made_cached(struct window *window)
{
	return window->trace->loader.no_list[0] == '\0' ? made_warm(window)
							: made_listed(window);
}

bool certificate_made(struct window *window)
{
	static bool (*const checks[TRACE_KINDS])(struct window *) = {
		[TRACE_REAL] = made_real,           [TRACE_CACHED] = made_cached,
		[TRACE_PREP] = made_cached,         [TRACE_LOADED] = made_loaded,
		[TRACE_SYNTHETIC] = made_synthetic,
	};

	if (window->kind >= TRACE_KINDS || checks[window->kind] == NULL)
		return window_judge(window, false,
				    "void: of no kind that can be proven");
	return checks[window->kind](window);
}
