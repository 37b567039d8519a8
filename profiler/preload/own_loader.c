/* own_loader.c - reads from the page how a program's own loader works, and how much of it
 * was seen. */
#include "profiler/preload/own_loader.h"
#include "profiler/io_page.h"
#include "profiler/profile.h"

#include <errno.h>
#include <math.h>

/* A text of the page, which the program's processes write. */
#define OWN_LOADER_TEXT(to, from)                                                      \
	profile_text(&(to), "%.*s", (int)sizeof(from) - 1, from)

static int own_loader_recipe(const struct io_recipe *recipe,
			     struct profile_own_recipe *own)
{
	bool whole = recipe->lacks[0] == '\0';

	if (atomic_load(&recipe->told) == 0)
		return 0;
	if (!whole)
		return OWN_LOADER_TEXT(own->lacks, recipe->lacks);
	own->size = recipe->size;
	if (profile_text(&own->kind, "%s", recipe->evaluate ? "evaluate" : "train") <
		    0 ||
	    profile_text(&own->type, "%s", recipe->bytes ? "uint8" : "float32") < 0 ||
	    OWN_LOADER_TEXT(own->folder, recipe->folder) < 0)
		return -ENOMEM;
	return OWN_LOADER_TEXT(own->code, recipe->code);
}

/* ---- processes ---- */

static struct profile_process *own_loader_find(struct profile *profile, uint64_t pid)
{
	for (size_t i = 0; i < profile->process_count; i++)
		if (profile->processes[i].pid == pid)
			return &profile->processes[i];
	return NULL;
}

/* One that made batches and does not train; those that were there before it count with it,
 * as they do in its slot. */
static struct profile_process *own_loader_worker(struct profile *profile, uint64_t pid)
{
	struct profile_process *process = profile_add_process(profile);

	if (process == NULL || profile_text(&process->role, "worker") < 0)
		return NULL;
	process->pid = pid;
	process->cpu_s = 0;
	process->read_bytes = process->samples = 0;
	return process;
}

static int own_loader_add_slot(const struct io_slot *slot, struct profile *profile)
{
	uint32_t pid = io_slot_pid(slot);
	uint64_t batches = slot->counters[IO_batches];
	struct profile_process *process;

	if (batches == 0)
		return 0;
	process = own_loader_find(profile, pid);
	if (process != NULL) { /* it trains, too: its CPU time is known */
		process->batches = batches;
		return 0;
	}
	process = own_loader_worker(profile, pid);
	if (process == NULL)
		return -ENOMEM;
	process->batches = batches;
	process->samples = slot->counters[IO_samples];
	process->cpu_s = (double)slot->counters[IO_cpu_ns] * 1e-9;
	process->read_bytes = slot->counters[IO_storage_bytes];
	return 0;
}

/* ---- epochs ---- */

/* What a usual step waits; 0: unknown. */
static double own_loader_wait(const struct profile *profile)
{
	double wait = (1 - profile->stalls[STAGE_COMPUTE].value) *
		      (double)profile->batch / profile->rates[TRACE_REAL].value;

	return profile->batch != UNKNOWN && wait > 0 ? wait : 0;
}

/* What an epoch takes to begin where others went before it; the first one takes longer, and
 * begins with new workers in any case. */
static double own_loader_anew(const struct io_page *page, const struct profile *profile)
{
	double starts = (double)profile->epoch_starts, mean = profile->epoch_start_s;

	if (profile->epoch_starts == UNKNOWN || starts < 2)
		return mean;
	return (starts * mean - (double)page->epoch_first_ns * 1e-9) / (starts - 1);
}

/* Workers that persist save their end, and all of their start but to make the first batch
 * and to hand it over, while the program waits as it did: new ones make it slower, too, and
 * slow the trainer, which shares its memory with them at first. */
static void own_loader_epochs(const struct io_page *page, struct profile *profile)
{
	double ends = (double)page->epoch_ends, start = profile->epoch_start_s;
	double batches = (double)io_page_total(page, IO_batches);
	double made =
		(double)io_page_total(page, IO_batch_ns) * 1e-9 / fmax(1, batches);
	double anew = own_loader_anew(page, profile);
	double given = isfinite(profile->handover_s) ? profile->handover_s : 0;

	if (isnan(start)) /* the program began none of a loader of its own */
		return;
	profile->epoch_start_s = fmax(0, start - own_loader_wait(profile));
	if (ends == 0)
		return;
	profile->epoch_end_s = (double)page->epoch_end_ns * 1e-9 / ends;
	profile->epoch_saved_s = fmax(0, anew - made - given) + profile->epoch_end_s;
}

/* ---- what was not seen ---- */

/* What is read beside data, as libraries that are opened, is less for a batch. */
#define BESIDE 16384

static void own_loader_unseen(const struct io_page *page, struct profile *profile)
{
	double seen = (double)io_page_total(page, IO_seen_bytes);
	double all = (double)io_page_total(page, IO_proc_bytes);

	if (all > BESIDE * (double)io_page_total(page, IO_batches))
		profile->coverage = fmin(1, seen / all);
	if (io_page_total(page, IO_batches) == 0)
		return;
	profile->mapped_files = io_page_total(page, IO_maps);
	profile->connections = io_page_total(page, IO_sockets);
	profile->unseen_processes = page->dropped_processes;
}

int own_loader_add(const struct io_page *page, struct profile *profile)
{
	int result = own_loader_recipe(&page->recipe, &profile->own_recipe);

	for (size_t i = 0; result == 0 && i < IO_SLOTS; i++)
		result = own_loader_add_slot(&page->slots[i], profile);
	own_loader_epochs(page, profile);
	own_loader_unseen(page, profile);
	return result;
}
