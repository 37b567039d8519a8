/* emulated.c - a token bucket in the page, and deadlines. */
#include "profiler/io/emulated.h"
#include "loader/base/clock.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"

#define SAVED_BYTES 0x1p18 /* of a sample in pieces; a longer file has several */

static uint64_t emulated_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

uint64_t emulated_open(struct io_page *page, struct io_slot *slot, uint64_t since)
{
	attach_add(slot, IO_throttle_reads, 1);
	return since + emulated_ns(page->storage_latency);
}

/* As throttle_release() does. *idle: how long the bucket still lay idle before. */
static uint64_t emulated_pass(struct io_page *page, uint64_t start, uint64_t transfer,
			      uint64_t *idle)
{
	uint64_t last = page->busy_until_ns, next;

	do {
		next = last + transfer > start ? last + transfer : start;
	} while (!atomic_compare_exchange_weak(&page->busy_until_ns, &last, next));
	*idle = next - last - transfer;
	return next;
}

/* What the first piece of a sample leaves of what was saved up is for those that follow:
 * all of them together have what one read would. */
static uint64_t emulated_transfer(struct io_page *page, struct fd_entry *entry,
				  uint64_t start, uint64_t transfer, bool follows)
{
	uint64_t most = emulated_ns(SAVED_BYTES / page->storage_bandwidth);
	uint64_t saved = follows ? entry->saved_ns : 0, idle, passed;

	if (saved >= transfer) {
		entry->saved_ns = saved - transfer;
		return start;
	}
	passed = emulated_pass(page, start, transfer - saved, &idle);
	entry->saved_ns = follows ? 0 : idle < most ? idle : most;
	return passed;
}

/* The first transfer runs beside the latency that the opening waited for. */
static uint64_t emulated_start(uint64_t opened, uint64_t since, uint64_t latency)
{
	if (opened == 0)
		return since;
	return opened + latency > since ? opened : since - latency;
}

uint64_t emulated_read(struct io_page *page, struct io_slot *slot,
		       struct fd_entry *entry, const struct emulated_read *read)
{
	uint64_t latency = emulated_ns(page->storage_latency), due, passed, opened,
		 transfer;
	bool seek;
	uint64_t fresh = fd_fresh(entry, read->from, read->to, &seek);

	if (fresh == 0)
		return read->since;
	due = seek ? emulated_open(page, slot, read->since) : read->since;
	attach_add(slot, IO_throttle_bytes, fresh);
	if (!(page->storage_bandwidth > 0))
		return due;
	transfer = emulated_ns((double)fresh / page->storage_bandwidth);
	attach_add(slot, IO_throttle_busy_ns, transfer);
	opened = atomic_exchange(&entry->opened_ns, 0);
	passed = emulated_transfer(page, entry,
				   emulated_start(opened, read->since, latency),
				   transfer, opened == 0 && !seek);
	return passed > due ? passed : due;
}

void dsa_io_pad(uint64_t begin_ns)
{
	struct io_page *page = attach_page();
	uint64_t due;

	if (page == NULL || !(page->prep_delay > 0))
		return;
	due = begin_ns + emulated_ns(page->prep_delay);
	if (clock_now() >= due)
		return;
	clock_sleep_until(due);
	if (attach_self.slot != NULL)
		attach_add(attach_self.slot, IO_padded, 1);
}
