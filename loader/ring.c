#include "loader/ring.h"
#include "loader/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define RING_MAGIC 0x676e697261736401u /* "\1dsaring" */
#define PAGE       4096u
#define HUGE_PAGE  (2u << 20)

/* At offset 0 of the memfd. Everything a reader in another process needs is in it. */
struct header {
	uint64_t magic;
	struct ring_shape shape;
	uint64_t descriptors, labels, samples, slots; /* offsets */
	uint64_t slot_bytes;                          /* from slot to slot */
	_Atomic uint64_t published;                   /* batches so far */
	_Atomic uint32_t bell; /* futex: changes with each publish and wake */
	_Atomic uint32_t order[RING_SLOTS];
};

/* A reader's own page. */
struct cursor {
	_Atomic uint32_t bell; /* futex: changes with each release */
	_Atomic uint64_t released[RING_SLOTS];
};

struct ring {
	struct header *header;
	size_t bytes;
	int fd;
	bool huge;
	struct ring_reader *reader; /* the one of this process */
};

struct ring_reader {
	struct ring *ring;
	struct cursor *cursor;
	uint64_t next; /* number of the batch to take */
	unsigned held;
	bool taken[RING_SLOTS];
};

static long futex(_Atomic uint32_t *word, int what, uint32_t value,
		  const struct timespec *timeout)
{
	return syscall(SYS_futex, word, what, value, timeout, NULL, 0);
}

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

static void *at(const struct ring *ring, uint64_t offset)
{
	return (char *)ring->header + offset;
}

/* Offsets of the parts; false when the sizes overflow. */
static bool lay_out(const struct ring_shape *shape, struct header *header,
		    size_t *bytes)
{
	size_t numbers = (size_t)shape->slots * shape->batch * sizeof(uint32_t);
	size_t slot, total;

	if (shape->slots < 1 || shape->slots > RING_SLOTS || shape->batch < 1 ||
	    __builtin_mul_overflow(shape->sample_bytes, (size_t)shape->batch, &slot) ||
	    slot > SIZE_MAX / 2)
		return false;
	slot = round_up(slot, slot >= 2 * HUGE_PAGE ? HUGE_PAGE : PAGE);
	if (__builtin_mul_overflow(slot, (size_t)shape->slots, &total) ||
	    total > SIZE_MAX / 2)
		return false;
	header->magic = RING_MAGIC;
	header->shape = *shape;
	header->descriptors = round_up(sizeof(*header), PAGE);
	header->labels = round_up(
		header->descriptors + shape->slots * sizeof(struct ring_batch), PAGE);
	header->samples = round_up(header->labels + numbers, PAGE);
	header->slots = round_up(header->samples + numbers, HUGE_PAGE);
	header->slot_bytes = slot;
	*bytes = header->slots + total;
	return true;
}

/* Room for the memfd, aligned for huge pages. Nothing is allocated yet. */
static void *map_aligned(int fd, size_t bytes)
{
	char *room = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (room == MAP_FAILED)
		return MAP_FAILED;
	start = (char *)round_up((size_t)room, HUGE_PAGE);
	if (start > room)
		munmap(room, (size_t)(start - room));
	munmap(start + bytes, HUGE_PAGE - (size_t)(start - room));
	return mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		    0);
}

/*
 * Allocates and maps every page now: a later fault would cost 430 us an image, and on a
 * machine without memory it would be a SIGBUS. Collapsing the empty file gives huge
 * pages at once, where small ones would have to be copied.
 */
static int fault_in(struct ring *ring, const struct header *plan)
{
	char *start = (char *)ring->header;

	for (size_t at = plan->slots; at < ring->bytes; at += HUGE_PAGE)
		start[at] = 0; /* there must be something to collapse */
	ring->huge = plan->slot_bytes % HUGE_PAGE == 0 &&
		     madvise(start + plan->slots, ring->bytes - plan->slots,
			     MADV_COLLAPSE) == 0;
	errno = posix_fallocate(ring->fd, 0, (off_t)ring->bytes);
	if (errno != 0)
		return -errno;
	madvise(start, ring->bytes, MADV_POPULATE_WRITE); /* Linux 5.14; else on use */
	return 0;
}

static int make_memory(struct ring *ring, const struct header *plan)
{
	ring->fd = memfd_create("dsa-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->fd < 0 || ftruncate(ring->fd, (off_t)ring->bytes) < 0)
		return -errno;
	ring->header = map_aligned(ring->fd, ring->bytes);
	if (ring->header == MAP_FAILED)
		return -errno;
	if (fault_in(ring, plan) < 0)
		return -errno;
	if (fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	*ring->header = *plan;
	return 0;
}

struct ring *ring_open(const struct ring_shape *shape, struct error *err)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	struct header plan = {0};
	int result;

	if (ring == NULL) {
		error_sys(err, ENOMEM, "cannot make the ring");
		return NULL;
	}
	ring->fd = -1;
	ring->header = MAP_FAILED;
	if (!lay_out(shape, &plan, &ring->bytes)) {
		error_set(err, EINVAL,
			  "a ring of %u slots of %u x %zu bytes is too big",
			  shape->slots, shape->batch, shape->sample_bytes);
		goto fail;
	}
	result = make_memory(ring, &plan);
	if (result == 0)
		return ring;
	error_sys(err, -result,
		  "cannot make %zu MB of shared memory for %u batches (smaller --batch "
		  "or --prefetch?)",
		  ring->bytes >> 20, shape->slots);
fail:
	ring_close(ring);
	return NULL;
}

void ring_close(struct ring *ring)
{
	if (ring == NULL)
		return;
	if (ring->header != MAP_FAILED)
		munmap(ring->header, ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring);
}

bool ring_huge(const struct ring *ring)
{
	return ring->huge;
}

struct ring_batch *ring_batch(const struct ring *ring, uint32_t slot)
{
	return (struct ring_batch *)at(ring, ring->header->descriptors) + slot;
}

void *ring_sample(const struct ring *ring, uint32_t slot, uint32_t index)
{
	const struct header *header = ring->header;

	return at(ring, header->slots + slot * header->slot_bytes +
				index * header->shape.sample_bytes);
}

uint32_t *ring_labels(const struct ring *ring, uint32_t slot)
{
	return (uint32_t *)at(ring, ring->header->labels) +
	       (size_t)slot * ring->header->shape.batch;
}

uint32_t *ring_samples(const struct ring *ring, uint32_t slot)
{
	return (uint32_t *)at(ring, ring->header->samples) +
	       (size_t)slot * ring->header->shape.batch;
}

bool ring_free(const struct ring *ring, uint32_t slot)
{
	uint64_t number = ring_batch(ring, slot)->number;
	const struct ring_reader *reader = ring->reader;

	/* number is that of the last batch + 1, and 0 before the first. */
	return number == 0 || reader == NULL ||
	       atomic_load_explicit(&reader->cursor->released[slot],
				    memory_order_acquire) >= number;
}

void ring_publish(struct ring *ring, uint32_t slot)
{
	struct header *header = ring->header;
	uint64_t number =
		atomic_load_explicit(&header->published, memory_order_relaxed);

	ring_batch(ring, slot)->number = number + 1;
	atomic_store_explicit(&header->order[number % header->shape.slots], slot,
			      memory_order_relaxed);
	atomic_store_explicit(&header->published, number + 1, memory_order_release);
	ring_wake(ring);
}

void ring_wake(struct ring *ring)
{
	atomic_fetch_add(&ring->header->bell, 1);
	futex(&ring->header->bell, FUTEX_WAKE, INT_MAX, NULL);
}

struct ring_reader *ring_join(struct ring *ring, struct error *err)
{
	struct ring_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL) {
		error_sys(err, ENOMEM, "cannot join the ring");
		return NULL;
	}
	reader->cursor = mmap(NULL, sizeof(*reader->cursor), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reader->cursor == MAP_FAILED) {
		error_sys(err, errno, "cannot join the ring");
		free(reader);
		return NULL;
	}
	reader->ring = ring;
	reader->next = atomic_load(&ring->header->published);
	ring->reader = reader;
	return reader;
}

void ring_leave(struct ring_reader *reader)
{
	if (reader == NULL)
		return;
	reader->ring->reader = NULL;
	munmap(reader->cursor, sizeof(*reader->cursor));
	free(reader);
}

static bool ready(const struct ring_reader *reader)
{
	return atomic_load_explicit(&reader->ring->header->published,
				    memory_order_acquire) > reader->next;
}

int ring_take(struct ring_reader *reader, uint64_t timeout_ns, uint32_t *slot)
{
	struct header *header = reader->ring->header;
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
				   .tv_nsec = (long)(timeout_ns % 1000000000u)};
	uint32_t bell = atomic_load(&header->bell);

	if (!ready(reader) && timeout_ns > 0)
		futex(&header->bell, FUTEX_WAIT, bell, &timeout);
	if (!ready(reader))
		return -EAGAIN;
	*slot = atomic_load_explicit(&header->order[reader->next % header->shape.slots],
				     memory_order_relaxed);
	reader->next++;
	reader->taken[*slot] = true;
	reader->held++;
	return 0;
}

int ring_release(struct ring_reader *reader, uint32_t slot)
{
	const struct ring *ring = reader->ring;

	if (slot >= ring->header->shape.slots || !reader->taken[slot])
		return -EINVAL;
	reader->taken[slot] = false;
	reader->held--;
	atomic_store_explicit(&reader->cursor->released[slot],
			      ring_batch(ring, slot)->number, memory_order_release);
	atomic_fetch_add(&reader->cursor->bell, 1);
	return 0;
}

unsigned ring_held(const struct ring_reader *reader)
{
	return reader->held;
}
