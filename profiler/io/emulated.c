/* emulated.c - a token bucket in the page, and deadlines. */
#include "profiler/io/emulated.h"
#include "loader/base/clock.h"
#include "profiler/io/attach.h"
#include "profiler/io/dsa_io.h"

static uint64_t emulated_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

uint64_t emulated_open(struct io_page *page, struct io_slot *slot, uint64_t since)
{
	attach_add(slot, IO_throttle_reads, 1);
	return since + emulated_ns(page->storage_latency);
}

/* As throttle_release() does. */
static uint64_t emulated_pass(struct io_page *page, uint64_t start, uint64_t transfer)
{
	uint64_t last = page->busy_until_ns, next;

	do {
		next = last + transfer > start ? last + transfer : start;
	} while (!atomic_compare_exchange_weak(&page->busy_until_ns, &last, next));
	return next;
}

static uint64_t emulated_transfer(struct io_page *page, struct io_slot *slot,
				  uint64_t start, uint64_t bytes)
{
	uint64_t transfer;

	attach_add(slot, IO_throttle_bytes, bytes);
	if (!(page->storage_bandwidth > 0) || bytes == 0)
		return start;
	transfer = emulated_ns((double)bytes / page->storage_bandwidth);
	attach_add(slot, IO_throttle_busy_ns, transfer);
	return emulated_pass(page, start, transfer);
}

/* The first transfer runs beside the latency that the opening waited for. */
static uint64_t emulated_start(struct fd_entry *entry, uint64_t since, uint64_t latency)
{
	uint64_t opened = atomic_exchange(&entry->opened_ns, 0);

	if (opened == 0)
		return since;
	return opened + latency > since ? opened : since - latency;
}

uint64_t emulated_read(struct io_page *page, struct io_slot *slot,
		       struct fd_entry *entry, const struct emulated_read *read)
{
	uint64_t latency = emulated_ns(page->storage_latency), due, passed;
	bool seek;
	uint64_t fresh = fd_fresh(entry, read->from, read->to, &seek);

	if (fresh == 0)
		return read->since;
	due = seek ? emulated_open(page, slot, read->since) : read->since;
	passed = emulated_transfer(page, slot,
				   emulated_start(entry, read->since, latency), fresh);
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
