/* sample_times.c - draws the sizes and times of samples from sample records. */
#include "profiler/analysis/sample_times.h"
#include "profiler/analysis/shares.h"

#include <errno.h>
#include <stdlib.h>

struct timed {
	uint32_t bytes, ns;
	size_t order; /* of recording: among samples of one size */
};

struct timed_list {
	struct timed *items;
	size_t count;
};

/* True when its records are of a stage that worked alone. */
static bool sample_times_counts(const struct window *window)
{
	const struct trace_loader *loader = &window->trace->loader;
	bool emulated = loader->storage_bandwidth > 0 || loader->storage_latency > 0;
	bool without = (window->flags & TRACE_UNTHROTTLED) != 0;

	if (window->kind != TRACE_FETCH)
		return shares_uses(window);
	return window->certified && window_depth(window) == 1 && without == emulated;
}

static int sample_times_by_bytes(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Records of the windows of a kind, in order of size. 0 or -ENOMEM. */
static int sample_times_list(const struct window *windows, size_t count,
			     enum trace_kind kind, struct timed_list *list)
{
	*list = (struct timed_list){0};
	for (size_t i = 0; i < count; i++) {
		size_t records, room = TRACE_SAMPLES - list->count;
		const struct trace_sample *samples =
			window_samples(&windows[i], &records);
		struct timed *items;

		if (records > room)
			records = room; /* a damaged session names some twice */
		if (records == 0 || windows[i].kind != kind ||
		    !sample_times_counts(&windows[i]))
			continue;
		items = realloc(list->items, (list->count + records) * sizeof(*items));
		if (items == NULL)
			return -ENOMEM;
		list->items = items;
		for (size_t j = 0; j < records; j++, list->count++)
			items[list->count] = (struct timed){
				.bytes = samples[j].bytes,
				.ns = kind == TRACE_FETCH ? samples[j].fetch_ns
							  : samples[j].prep_ns,
				.order = list->count,
			};
	}
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items),
		      sample_times_by_bytes);
	return 0;
}

/* The middle of part `i` of `parts` equal ones of the list. */
static const struct timed *sample_times_pick(const struct timed_list *list, size_t i,
					     size_t parts)
{
	return &list->items[(2 * i + 1) * list->count / (2 * parts)];
}

static int sample_times_join(const struct timed_list *prep,
			     const struct timed_list *fetch, struct profile *profile)
{
	size_t draws = prep->count;

	if (draws > SAMPLE_TIMES)
		draws = SAMPLE_TIMES;
	for (size_t i = 0; i < draws; i++) {
		struct profile_draw *draw = profile_add_draw(profile);
		const struct timed *one = sample_times_pick(prep, i, draws);

		if (draw == NULL)
			return -ENOMEM;
		draw->bytes = one->bytes;
		draw->prep_s = one->ns * 1e-9;
		if (fetch->count > 0)
			draw->fetch_s = sample_times_pick(fetch, i, draws)->ns * 1e-9;
	}
	return 0;
}

/* ---- batches of a loader of the program's own ---- */

/* Seconds of I/O a sample in the windows of a kind; NAN: none was made. */
static double sample_times_io(const struct window *windows, size_t count,
			      enum trace_kind kind)
{
	double io_s = 0, samples = 0;

	for (size_t i = 0; i < count; i++) {
		size_t records;
		const struct trace_batch *batches =
			window_batches(&windows[i], &records);

		if (windows[i].kind != kind || !shares_uses(&windows[i]))
			continue;
		for (size_t j = 0; j < records; j++) {
			io_s += (double)batches[j].io_ns * 1e-9;
			samples += batches[j].samples;
		}
	}
	return samples > 0 ? io_s / samples : NAN;
}

/* True where nothing came from storage: files were in memory before real windows, too. */
static bool sample_times_warm(const struct window *windows, size_t count)
{
	bool warm = false;

	for (size_t i = 0; i < count; i++) {
		if (windows[i].kind != TRACE_REAL || !shares_uses(&windows[i]))
			continue;
		if ((windows[i].flags & TRACE_WARM) == 0)
			return false;
		warm = true;
	}
	return warm;
}

/* `staged`: it was read from memory, and what that took is of prep. */
static int sample_times_add_batch(const struct trace_batch *batch, bool staged,
				  double fetch_s, struct profile *profile)
{
	double samples = batch->samples;
	uint64_t read_ns = staged ? 0 : batch->io_ns;
	struct profile_draw *draw;

	if (batch->samples == 0 || batch->end_ns < batch->begin_ns + read_ns)
		return 0;
	draw = profile_add_draw(profile);
	if (draw == NULL)
		return -ENOMEM;
	draw->bytes = (uint64_t)((double)batch->bytes / samples);
	draw->prep_s =
		(double)(batch->end_ns - batch->begin_ns - read_ns) * 1e-9 / samples;
	draw->fetch_s = fetch_s;
	return 0;
}

/* What reads take beyond what they take from memory, on average; NAN: not known. */
static double sample_times_fetch(const struct window *windows, size_t count,
				 bool listed)
{
	const struct trace_loader *loader = &windows[0].trace->loader;
	double real_s = sample_times_io(windows, count, TRACE_REAL);

	if (loader->storage_bandwidth > 0 || loader->storage_latency > 0)
		return NAN; /* emulated */
	if (sample_times_warm(windows, count))
		return 0; /* but for what disturbs */
	if (listed)
		real_s -= sample_times_io(windows, count, TRACE_CACHED);
	return isnan(real_s) ? NAN : fmax(0, real_s);
}

static int sample_times_add_batches(const struct window *windows, size_t count,
				    struct profile *profile)
{
	bool listed = !windows[0].no_list;
	enum trace_kind kind = listed ? TRACE_CACHED : TRACE_REAL;
	double fetch_s = sample_times_fetch(windows, count, listed);

	for (size_t i = 0; i < count; i++) {
		size_t records;
		const struct trace_batch *batches =
			window_batches(&windows[i], &records);

		if (windows[i].kind != kind || !shares_uses(&windows[i]))
			continue;
		for (size_t j = 0; j < records && profile->draw_count < SAMPLE_TIMES;
		     j++)
			if (sample_times_add_batch(&batches[j], listed, fetch_s,
						   profile) < 0)
				return -ENOMEM;
	}
	return 0;
}

int sample_times_add(const struct window *windows, size_t count,
		     struct profile *profile)
{
	struct timed_list prep, fetch = {0};
	int result;

	if (count > 0 && windows[0].trace->loader.kind != TRACE_LIBDSA)
		return sample_times_add_batches(windows, count, profile);
	result = sample_times_list(windows, count, TRACE_CACHED, &prep);

	if (result == 0)
		result = sample_times_list(windows, count, TRACE_FETCH, &fetch);
	if (result == 0)
		result = sample_times_join(&prep, &fetch, profile);
	free(prep.items);
	free(fetch.items);
	return result;
}
