/* busy.c - sums what else the machine did over the windows. */
#include "profiler/analysis/busy.h"
#include "profiler/session/disturbance.h"

#include <math.h>

/* One number of the windows' loads, over those that know it. */
struct ratio {
	double sum, of;
};

static void ratio_add(struct ratio *ratio, uint64_t part, uint64_t of)
{
	if (part == UINT64_MAX || of == UINT64_MAX)
		return;
	ratio->sum += (double)part;
	ratio->of += (double)of;
}

static void ratio_add_mean(struct ratio *ratio, double number)
{
	if (isnan(number))
		return;
	ratio->sum += number;
	ratio->of++;
}

/* NAN: no window knew it. */
static double ratio_of(const struct ratio *ratio)
{
	return ratio->sum / ratio->of;
}

struct sums {
	struct ratio cpu, steal, read, cpu_wait, io_wait, load, hz;
	uint64_t windows, disturbed;
	bool kept; /* a disturbed one counts in the shares */
};

/* True when the shares are of it, unless it is left out. Curves have points of their own;
 * of an observed run its one window is all. */
static bool busy_is_of_shares(const struct window *window)
{
	return window->block >= 0 || window->trace->observe;
}

static void busy_add_load(struct sums *sums, const struct trace_load *load)
{
	ratio_add(&sums->cpu, load->others_ns, load->cpu_ns);
	ratio_add(&sums->steal, load->steal_ns, load->cpu_ns);
	if (disturbance_reads(load))
		ratio_add(&sums->read, load->others_bytes,
			  load->own_bytes + load->others_bytes);
	ratio_add(&sums->cpu_wait, load->cpu_wait_ns, load->length_ns);
	ratio_add(&sums->io_wait, load->io_wait_ns, load->length_ns);
	ratio_add_mean(&sums->load, load->load);
	ratio_add_mean(&sums->hz, load->hz);
}

static void busy_add_window(struct sums *sums, const struct window *window)
{
	const struct trace_load *load = window_load(window);
	bool disturbed = window->disturbance > 0;

	if (load->length_ns == 0 || (window->flags & TRACE_WARMUP) != 0)
		return;
	sums->windows++;
	sums->disturbed += disturbed;
	sums->kept |= disturbed && !window->left_out && busy_is_of_shares(window);
	busy_add_load(sums, load);
}

int busy_find(const struct window *windows, size_t count, struct profile *profile)
{
	struct sums sums = {.windows = 0};

	for (size_t i = 0; i < count; i++)
		busy_add_window(&sums, &windows[i]);
	if (sums.windows == 0)
		return 0;
	profile->busy = (struct profile_busy){
		.others_cpu_share = ratio_of(&sums.cpu),
		.steal_share = ratio_of(&sums.steal),
		.others_read_share = ratio_of(&sums.read),
		.cpu_wait_share = ratio_of(&sums.cpu_wait),
		.io_wait_share = ratio_of(&sums.io_wait),
		.load = ratio_of(&sums.load),
		.cpu_hz = ratio_of(&sums.hz),
		.windows = sums.windows,
		.disturbed = sums.disturbed,
		.kept = sums.kept,
	};
	return profile_busy_text(&profile->busy, !windows->trace->observe,
				 &profile->busy_why);
}

static double busy_seconds(uint64_t ns)
{
	return ns == UINT64_MAX ? NAN : (double)ns * 1e-9;
}

void busy_fill_window(const struct window *window, struct profile_window *to)
{
	const struct trace_load *load = window_load(window);

	if (load->length_ns == 0)
		return;
	to->others_cpu_s = busy_seconds(load->others_ns);
	to->steal_s = busy_seconds(load->steal_ns);
	to->others_read_bytes = load->others_bytes;
	to->cpu_wait_s = busy_seconds(load->cpu_wait_ns);
	to->io_wait_s = busy_seconds(load->io_wait_ns);
	to->load = load->load;
	to->cpu_hz = load->hz;
	to->disturbed = window->disturbance > 0;
}
