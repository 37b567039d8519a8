/* device_idle.c - sums what devices did over windows of a kind. */
#include "profiler/analysis/device_idle.h"
#include "profiler/analysis/shares.h"
#include "profiler/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOST_PART = 100 };

/* What one device did in windows of one kind. */
struct kind_use {
	struct device_use use;
	double samples;
	unsigned windows;
};

/* A device of the process that drives comes first, then the busiest. */
struct device_rank {
	bool own;
	uint64_t busy_ns;
};

static bool device_idle_counts(const struct window *window)
{
	if (window->trace->observe)
		return window->kind == TRACE_REAL && window->seconds > 0;
	return shares_uses(window);
}

static bool device_idle_all_pause(const struct window *window,
				  const struct trace_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!window_holds_pause(window, &steps[i]))
			return false;
	return true;
}

/* Records with a pause are left out, as no share counts it; where all have one, of steps
 * that were merged, they count with it. */
static void device_idle_add_window(const struct device *device,
				   const struct window *window, struct kind_use *to)
{
	size_t count;
	const struct trace_step *steps = window_steps(window, &count);
	bool all = device_idle_all_pause(window, steps, count);

	for (size_t i = 0; i < count; i++) {
		if (!all && window_holds_pause(window, &steps[i]))
			continue;
		device_use(device, steps[i].request_ns, steps[i].end_ns, &steps[i], 1,
			   &to->use);
		to->samples += steps[i].samples;
	}
	to->windows += count > 0;
}

static void device_idle_sum(const struct device *device, const struct trace *trace,
			    const struct window *windows, size_t count,
			    struct kind_use uses[TRACE_KINDS])
{
	for (size_t i = 0; i < count; i++)
		if (windows[i].trace == trace && device_idle_counts(&windows[i]))
			device_idle_add_window(device, &windows[i],
					       &uses[windows[i].kind]);
}

static int device_idle_add_row(const struct device *device, int kind,
			       const struct device_use *use, struct profile *profile)
{
	struct profile_device *row = profile_add_device(profile);

	if (row == NULL)
		return -ENOMEM;
	row->pid = device->pid;
	row->device = device->ordinal;
	row->kind.id = kind;
	row->length_s = (double)device_use_total(use) * 1e-9;
	row->busy_s = (double)use->busy_ns * 1e-9;
	row->copy_s = (double)use->copy_ns * 1e-9;
	row->data_s = (double)use->data_ns * 1e-9;
	row->host_s = (double)use->host_ns * 1e-9;
	row->overlap_s = (double)use->overlap_ns * 1e-9;
	row->collective_s = (double)use->collective_ns * 1e-9;
	return 0;
}

static int device_idle_add(const struct device *device,
			   const struct kind_use uses[TRACE_KINDS],
			   struct profile *profile)
{
	for (int kind = 0; kind < TRACE_KINDS; kind++)
		if (uses[kind].windows > 0 &&
		    device_idle_add_row(device, kind, &uses[kind].use, profile) < 0)
			return -ENOMEM;
	return 0;
}

/* That it only copied, or was idle for data. */
static void device_idle_fill(const struct kind_use uses[TRACE_KINDS],
			     struct device_idle *idle)
{
	const struct device_use *real = &uses[TRACE_REAL].use;

	for (int kind = 0; kind < TRACE_KINDS; kind++)
		if (uses[kind].samples > 0)
			idle->wait_s[kind] = (double)(uses[kind].use.copy_ns +
						      uses[kind].use.data_ns) *
					     1e-9 / uses[kind].samples;
	if (device_use_total(real) > 0)
		idle->data_share =
			(double)real->data_ns / (double)device_use_total(real);
}

static bool device_idle_is_lossy(const struct trace *trace)
{
	return trace->lost_records > trace->read_records / LOST_PART;
}

static struct device_rank device_idle_rank(const struct device *device,
					   const struct trace *trace,
					   const struct kind_use uses[TRACE_KINDS])
{
	const struct trace_process *driver = trace_driver(trace);
	struct device_rank rank = {driver != NULL && driver->pid == device->pid, 0};

	for (int kind = 0; kind < TRACE_KINDS; kind++)
		rank.busy_ns += uses[kind].use.busy_ns;
	return rank;
}

static bool device_idle_is_above(const struct device_rank *rank,
				 const struct device_rank *other)
{
	return rank->own != other->own ? rank->own : rank->busy_ns > other->busy_ns;
}

static int device_idle_session(const struct trace *trace, const struct window *windows,
			       size_t count, struct profile *profile,
			       struct device_idle *idle)
{
	struct devices devices;
	struct device_rank best = {false, 0};
	int result = devices_read(trace, &devices);

	for (size_t i = 0; result == 0 && i < devices.count; i++) {
		struct kind_use uses[TRACE_KINDS] = {{{0}, 0, 0}};
		struct device_rank rank;

		device_idle_sum(&devices.device[i], trace, windows, count, uses);
		result = device_idle_add(&devices.device[i], uses, profile);
		rank = device_idle_rank(&devices.device[i], trace, uses);
		if (device_idle_is_above(&rank, &best) &&
		    !device_idle_is_lossy(trace)) {
			best = rank;
			device_idle_fill(uses, idle);
		}
	}
	devices_free(&devices);
	return result;
}

/* What saw them, or why nothing did; a damaged session's text is cut. */
static int device_idle_about(const struct trace *trace, struct profile *profile)
{
	if (trace->cupti_said != 1)
		return 0;
	if (trace->cupti > 0)
		profile->devices_lost = trace->lost_records;
	return profile_text(&profile->devices_by, "%.*s", TRACE_WHY - 1,
			    trace->cupti_about);
}

int device_idle_find(const struct trace *const *sessions, unsigned count,
		     const struct window *windows, size_t window_count,
		     struct profile *profile, struct device_idle *idle)
{
	int result = device_idle_about(sessions[0], profile);

	for (int kind = 0; kind < TRACE_KINDS; kind++)
		idle->wait_s[kind] = NAN;
	idle->data_share = NAN;
	for (unsigned i = 0; result == 0 && i < count; i++)
		result = device_idle_session(sessions[i], windows, window_count,
					     profile, idle);
	return result;
}

/* False, and nothing is set, where the windows of a stage do not tell. */
static bool device_idle_differ(const struct device_idle *idle, double real_s,
			       double share[STAGES])
{
	double above = idle->wait_s[stage_table[STAGE_COMPUTE].kind];
	double found[STAGES] = {0}, sum = 0;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++) {
		double wait = idle->wait_s[stage_table[i].kind];

		found[i] = (wait - above) / real_s;
		if (isnan(wait) && stage_table[i].optional)
			continue;
		sum += found[i];
		above = wait;
	}
	if (!isfinite(sum))
		return false;
	memcpy(share, found, sizeof(found));
	share[STAGE_COMPUTE] = NAN; /* as of the time blocked */
	return true;
}

static void device_idle_scale(const struct device_idle *idle, struct proof *proof)
{
	double blocked = proof->share[STAGE_PREP] + proof->share[STAGE_FETCH];

	if (!isfinite(idle->data_share) || !(blocked > 0))
		return;
	proof->share[STAGE_PREP] *= idle->data_share / blocked;
	proof->share[STAGE_FETCH] *= idle->data_share / blocked;
	snprintf(proof->basis, sizeof(proof->basis),
		 PROFILE_DEVICE_IDLE ", split as the time blocked is");
}

void device_idle_prove(const struct device_idle *idle, bool observed, double real_s,
		       struct proof *proof)
{
	if (observed)
		device_idle_scale(idle, proof);
	else if (device_idle_differ(idle, real_s, proof->share))
		snprintf(proof->basis, sizeof(proof->basis),
			 PROFILE_DEVICE_IDLE ", by difference of windows");
}
