/* certificate.c - the checks for each kind of window. */
#include "profiler/session/certificate.h"
#include "profiler/session/certificate_made.h"

#include <inttypes.h>
#include <math.h>

/* A read takes whole blocks, and may take one more at each end of a file. */
#define BLOCK_BYTES 8192

/* Share of the bytes that a warm page cache may lack. */
#define WARM_MISSES .01

static bool check_no_bytes(struct window *window)
{
	uint64_t bytes = window_read_bytes(window->raw);

	if (window->trace->loader.memory)
		return window_judge(window, true, "storage is memory");
	if (window->trace->loader.remote)
		return window_judge(window, true, "no request in %.0f samples",
				    window->samples);
	if (bytes == UINT64_MAX)
		return window_judge(window, false,
				    "void: bytes from storage are not known");
	if (bytes > 0)
		return window_judge(window, false,
				    "void: %" PRIu64 " bytes came from storage", bytes);
	return window_judge(window, true, "0 bytes from storage in %.0f samples",
			    window->samples);
}

/*
 * Payload and the kernel's count are taken at different moments of a read, so the two
 * may differ by what is in flight at the window's two ends.
 */
static double slack_bytes(const struct window *window, double reads, double payload)
{
	return 2 * (window_depth(window) + 1) * (reads > 0 ? payload / reads : 0);
}

/* What is warm may still miss a page here and there, as it does in a training. */
static bool check_warm(struct window *window)
{
	double payload = (double)window_counted(window->raw, TRACE_fetched_bytes);
	uint64_t bytes = window_read_bytes(window->raw);

	if (bytes == 0 || bytes == UINT64_MAX || window->trace->loader.memory)
		return check_no_bytes(window);
	return window_judge(
		window, (double)bytes <= WARM_MISSES * payload,
		"%s%" PRIu64 " of %.0f bytes came from storage",
		(double)bytes <= WARM_MISSES * payload ? "" : "void: ", bytes, payload);
}

static bool check_bytes(struct window *window)
{
	/* what a cache on disk had was read of storage, too */
	double reads = (double)(window_counted(window->raw, TRACE_fetched_samples) +
				window_counted(window->raw, TRACE_disk_samples));
	double payload = (double)(window_counted(window->raw, TRACE_fetched_bytes) +
				  window_counted(window->raw, TRACE_disk_bytes));
	double slack = slack_bytes(window, reads, payload);
	uint64_t bytes = window_read_bytes(window->raw);

	if (window->trace->loader.remote)
		return window_judge(window, true, "%.0f bytes in %.0f requests",
				    payload, reads);
	if (window->trace->loader.memory || bytes == UINT64_MAX)
		return check_no_bytes(window);
	if ((double)bytes < payload - slack)
		return window_judge(window, false,
				    "void: %.0f bytes fetched, only %" PRIu64
				    " of them from storage",
				    payload, bytes);
	if ((double)bytes > payload + reads * BLOCK_BYTES + slack)
		return window_judge(window, false,
				    "void: %" PRIu64
				    " bytes from storage for %.0f fetched",
				    bytes, payload);
	return window_judge(window, true,
			    "%" PRIu64 " bytes from storage for %.0f misses", bytes,
			    reads);
}

/* Whole epochs, or a run as it is, through the kernel's cache: what it had is the result. */
static bool check_kernel(struct window *window)
{
	double payload = (double)window_counted(window->raw, TRACE_fetched_bytes);
	uint64_t bytes = window_read_bytes(window->raw);

	if (window->trace->loader.memory)
		return window_judge(window, true, "storage is memory");
	if (bytes == UINT64_MAX)
		return window_judge(window, true, "bytes from storage are not known");
	return window_judge(window, true, "%" PRIu64 " of %.0f bytes came from storage",
			    bytes, payload);
}

/* Batches were ready: false, with the reason, where the pipeline worked. */
static bool check_idle(struct window *window)
{
	uint64_t fetched = window_counted(window->raw, TRACE_fetched_samples);
	uint64_t prepared = window_counted(window->raw, TRACE_prepared_samples);

	return fetched + prepared == 0 ||
	       window_judge(window, false,
			    "void: %" PRIu64 " samples fetched, %" PRIu64 " prepared",
			    fetched, prepared);
}

/* Of jobs that share a loader each copies in every kind of window: no stage of theirs. */
static uint64_t certificate_copied(const struct window *window)
{
	return window->trace->loader.device[0] != '\0'
		       ? window_counted(window->raw, TRACE_device_bytes)
		       : 0;
}

static bool check_synthetic(struct window *window)
{
	uint64_t copied = certificate_copied(window);

	if (!check_idle(window))
		return false;
	if (copied > 0)
		return window_judge(window, false,
				    "void: %" PRIu64 " bytes copied to the device",
				    copied);
	return window_judge(window, true, "nothing fetched or prepared in %.0f samples",
			    window->samples);
}

/* As many batches as were delivered, or one more or less, as both ends lie between two. */
static bool check_copied(struct window *window)
{
	const struct trace_loader *loader = &window->trace->loader;
	double copied = (double)window_counted(window->raw, TRACE_device_bytes);
	double sample = (double)loader->device_sample_bytes;
	double off = fabs(copied - (double)window->raw->samples * sample);

	if (!check_idle(window))
		return false;
	return window_judge(
		window, copied > 0 && off <= loader->batch * sample,
		"%s%.0f bytes copied to the device for %" PRIu64 " samples of %.0f",
		copied > 0 && off <= loader->batch * sample ? "" : "void: ", copied,
		window->raw->samples, sample);
}

static bool check_unfetched(struct window *window)
{
	uint64_t fetched = window_counted(window->raw, TRACE_fetched_samples);

	if (fetched > 0)
		return window_judge(window, false, "void: %" PRIu64 " samples fetched",
				    fetched);
	return check_no_bytes(window);
}

static bool lacks_pool(const struct window *window)
{
	enum trace_kind kind = window->kind;

	return window->trace->pool_why[0] != '\0' &&
	       (kind == TRACE_SYNTHETIC || kind == TRACE_COPIED ||
		kind == TRACE_LOADED);
}

/* Why there is no such window. */
static bool certificate_refused(struct window *window)
{
	const struct trace_window *raw = window->raw;

	if (raw->cut)
		return window_judge(
			window, false, "void: the program began another epoch%s",
			window->trace->loader.kind == TRACE_WATCH
				? "; if by a new generator: give dsa.watch() an object "
				  "whose __iter__() begins each"
				: "");
	if (raw->flags & TRACE_EPOCH)
		return window_judge(window, false, "void: it ended within an epoch");
	if (trace_is_awaited(raw->made.devices))
		return window_judge(window, false,
				    "void: the program ended, maybe before its device");
	if (lacks_pool(window))
		return window_judge(window, false, "void: %s", window->trace->pool_why);
	return window_judge(window, false, "void: the loader could not do it");
}

bool certificate_check(struct window *window)
{
	const struct trace_window *raw = window->raw;

	if (raw->state == TRACE_REFUSED)
		return certificate_refused(window);
	if (raw->state != TRACE_DONE || (raw->flags & TRACE_UNMERGED))
		return window_judge(window, false, "void: it did not end");
	if (window->kind == TRACE_FILL)
		return window_judge(window, true, "fills the cache, measures nothing");
	if (window->samples < 1 || window->seconds <= 0)
		return window_judge(window, false, "void: no step was measured");
	if (raw->made.devices == TRACE_CAPTURED)
		return window_judge(window, false,
				    "void: a CUDA graph was being recorded as the "
				    "window began or ended, so the device could not be "
				    "waited for");
	if (window->trace->loader.kind != TRACE_LIBDSA)
		return certificate_made(window);
	switch (window->kind) {
	case TRACE_REAL:
		if (raw->flags & TRACE_WARM)
			return check_warm(window);
		if (window->trace->observe ||
		    ((raw->flags & TRACE_EPOCH) && !window->trace->loader.direct))
			return check_kernel(window);
		return check_bytes(window);
	case TRACE_FETCH:
		return check_bytes(window);
	case TRACE_SYNTHETIC:
		return check_synthetic(window);
	case TRACE_COPIED:
		return check_copied(window);
	case TRACE_CACHED:
	case TRACE_PREP:
	case TRACE_LOADED:
		return check_unfetched(window);
	default:
		return window_judge(window, false, "void: of no known kind");
	}
}
