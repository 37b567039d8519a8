/* batch.c - begins batches, and ends them as records. */
#include "profiler/io/batch.h"
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/base/coverage.h"
#include "profiler/io/dsa_io.h"
#include "profiler/io/kept/written_files.h"
#include "profiler/io/mapped.h"
#include "profiler/io/meter.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NUMBERS = 1 << 30, /* of batches, in a process; fd_table.h has no more bits */
	SECTOR = 512,      /* unit of ru_inblock */
	PAGE = 4096,       /* at the least */
	USAGE_NS = 50000,  /* in so short a time no process ends */
};

/* What the process has used, as the kernel was asked last, which costs microseconds: not
 * again so soon, if nothing was read. */
static struct batch_usage {
	uint64_t ns;    /* 0: never */
	uint64_t calls; /* that opened and read, by then */
	uint64_t cpu_ns;
	uint64_t storage_bytes;
	uint64_t faults;   /* that waited for storage, which may be none with blocks */
	uint64_t children; /* faults of those that were waited for: each has some */
} batch_usage;

/* What is compared at both ends. */
struct batch_look {
	uint64_t ns;
	struct batch_usage usage;
	uint64_t own_io_ns; /* of that thread, */
	const void *thread; /* which nothing else lies in */
	uint32_t forks;
	uint64_t counters[IO_COUNT];
};

/* Of this process. */
static struct batch_mapped {
	bool known;       /* looked at, in its first batch */
	bool any;         /* there were mapped files then, */
	uint64_t touched; /* of which so much was in memory before it; */
	uint32_t flags;   /* IO_MAPPED: and more after it, or a batch mapped some;
			   * IO_CALLS: there is a ring */
	uint32_t batches; /* so far */
} batch_mapped;

/* Written by the thread that begins it, but for digest and both flags. */
static struct batch_now {
	uint32_t number;
	uint64_t key, loader;
	struct batch_look begin;
	_Atomic uint64_t digest;
	_Atomic uint32_t flags, own_flags; /* own: of the thread that began it, */
	const void *_Atomic owner;         /* which nothing else has this address of */
} batch_now;

void batch_digest(uint64_t file, uint64_t from, uint64_t bytes)
{
	uint64_t mixed = random_mix(random_mix(file ^ from) + bytes);

	atomic_fetch_add_explicit(&batch_now.digest, mixed, memory_order_relaxed);
}

bool batch_is_own(void)
{
	return atomic_load_explicit(&batch_now.owner, memory_order_relaxed) ==
	       &meter_own_ns;
}

void batch_flag(uint32_t flag)
{
	atomic_fetch_or_explicit(&batch_now.flags, flag, memory_order_relaxed);
	if (batch_is_own())
		atomic_fetch_or_explicit(&batch_now.own_flags, flag,
					 memory_order_relaxed);
}

uint64_t batch_key(void)
{
	return batch_now.key;
}

static uint64_t batch_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static void batch_use(struct io_slot *slot)
{
	uint64_t now = clock_now();
	uint64_t calls = attach_count(slot, IO_reads) + attach_count(slot, IO_opens);
	struct rusage own = {0}, children = {0};

	if (calls == batch_usage.calls && now - batch_usage.ns < USAGE_NS)
		return;
	syscall(SYS_getrusage, RUSAGE_SELF, &own);
	syscall(SYS_getrusage, RUSAGE_CHILDREN, &children);
	batch_usage = (struct batch_usage){
		.ns = now,
		.calls = calls,
		.cpu_ns = batch_ns(own.ru_utime) + batch_ns(own.ru_stime),
		.storage_bytes = (uint64_t)own.ru_inblock * SECTOR,
		.faults = (uint64_t)own.ru_majflt,
		.children = (uint64_t)children.ru_minflt,
	};
}

static void batch_look(struct batch_look *look, struct io_slot *slot)
{
	batch_use(slot);
	look->usage = batch_usage;
	look->forks = attach_self.forks;
	look->thread = &meter_own_ns;
	look->own_io_ns = meter_own_ns;
	for (unsigned i = 0; i < IO_COUNT; i++)
		look->counters[i] = attach_count(slot, i);
	look->ns = clock_now();
}

static void batch_look_mapped(void)
{
	if (batch_mapped.known)
		return;
	batch_mapped.any = mapped_any();
	batch_mapped.touched = batch_mapped.any ? mapped_touched() : 0;
}

/* True for the first one, and then more and more rarely. */
static bool batch_looks_for_rings(void)
{
	uint32_t batches = ++batch_mapped.batches;

	return (batches & (batches - 1)) == 0 && (batches & 0x55555555) != 0 &&
	       (batch_mapped.flags & IO_CALLS) == 0;
}

static void batch_know_mapped(void)
{
	if (!batch_mapped.known && batch_mapped.any &&
	    mapped_touched() > batch_mapped.touched)
		batch_mapped.flags |= IO_MAPPED;
	batch_mapped.known = true;
	if (batch_looks_for_rings() && mapped_rings())
		batch_mapped.flags |= IO_CALLS;
}

void batch_child(void)
{
	batch_mapped = (struct batch_mapped){0};
	batch_usage = (struct batch_usage){0};
	coverage_child();
}

void dsa_io_batch_of(uint64_t loader)
{
	if (loader != batch_now.loader)
		coverage_restart();
	batch_now.loader = loader;
}

void dsa_io_batch_begin(uint64_t key)
{
	struct io_slot *slot = attach_slot();

	if (slot == NULL)
		return;
	coverage_begin(slot);
	batch_look_mapped();
	batch_now.number = batch_now.number % (NUMBERS - 1) + 1;
	batch_now.key = key;
	atomic_store(&batch_now.digest, 0);
	atomic_store(&batch_now.flags, attach_self.page->listing ? IO_LISTED : 0);
	atomic_store(&batch_now.owner, &meter_own_ns);
	atomic_store(&batch_now.own_flags, 0);
	batch_look(&batch_now.begin, slot);
	atomic_store(&attach_self.batch, batch_now.number);
}

/* ---- the end ---- */

static void batch_record(struct io_batch *batch, const struct io_slot *slot,
			 const struct batch_look *end, uint32_t samples)
{
	const struct batch_look *begin = &batch_now.begin;
	const struct batch_usage *had = &begin->usage, *used = &end->usage;
	uint64_t took[IO_COUNT];

	for (unsigned i = 0; i < IO_COUNT; i++)
		took[i] = end->counters[i] - begin->counters[i];
	batch->key = batch_now.key;
	batch->loader = batch_now.loader;
	batch->begin_ns = begin->ns;
	batch->end_ns = end->ns;
	batch->cpu_ns = used->cpu_ns - had->cpu_ns;
	batch->storage_bytes = used->storage_bytes - had->storage_bytes;
	if (batch->storage_bytes == 0)
		batch->storage_bytes = PAGE * (used->faults - had->faults);
	batch->io_ns = took[IO_io_ns];
	batch->own_io_ns =
		end->thread == begin->thread ? end->own_io_ns - begin->own_io_ns : 0;
	batch->bytes = took[IO_bytes];
	batch->opens = (uint32_t)took[IO_opens];
	batch->reads = (uint32_t)took[IO_reads];
	batch->digest = atomic_load(&batch_now.digest);
	batch->samples = samples;
	batch->pid = io_slot_pid(slot);
	batch->flags = atomic_load(&batch_now.flags) | batch_mapped.flags;
	/* later ones read it, too; what another thread mapped may have been no data */
	batch_mapped.flags |= (batch->flags & IO_CALLS) |
			      (atomic_load(&batch_now.own_flags) & IO_MAPPED);
	if (end->forks != begin->forks || used->children != had->children)
		batch->flags |= IO_FORKED;
}

static void batch_total(struct io_slot *slot, const struct io_batch *batch)
{
	attach_add(slot, IO_batches, 1);
	attach_add(slot, IO_samples, batch->samples);
	attach_add(slot, IO_batch_ns, batch->end_ns - batch->begin_ns);
	attach_add(slot, IO_cpu_ns, batch->cpu_ns);
	attach_add(slot, IO_storage_bytes, batch->storage_bytes);
}

static void batch_finish(struct io_slot *slot, uint32_t samples)
{
	struct io_page *page = attach_self.page;
	struct batch_look end;
	struct io_batch *batch;
	uint64_t number;

	batch_look(&end, slot);
	batch_know_mapped();
	written_begin(attach_self.first);
	number = atomic_fetch_add(&page->batch_count, 1);
	batch = &page->batches[number % IO_BATCHES];
	atomic_store(&batch->number, 0);
	batch_record(batch, slot, &end, samples);
	batch_total(slot, batch);
	atomic_store(&batch->number, number + 1);
}

void dsa_io_batch_next(uint32_t samples)
{
	struct io_slot *slot = attach_self.slot;

	if (slot == NULL || attach_self.batch == 0)
		return;
	if (samples > 0)
		batch_finish(slot, samples);
	batch_look(&batch_now.begin, slot);
	coverage_look(slot);
}

void dsa_io_batch_end(uint32_t samples)
{
	struct io_slot *slot = attach_self.slot;

	if (slot == NULL || atomic_exchange(&attach_self.batch, 0) == 0)
		return;
	if (samples > 0)
		batch_finish(slot, samples);
	coverage_look(slot);
}

struct io_page *dsa_io_page(void)
{
	return attach_page();
}

struct io_page *dsa_io_first_page(void)
{
	return attach_first();
}

int dsa_io_rank(uint32_t rank)
{
	return attach_rank(rank);
}
