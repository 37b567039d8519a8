/* bcast_mirror.c - copies what is published to a device, once for all jobs there. */
#include "loader/base/error.h"
#include "loader/gpu.h"
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <stdlib.h>

int bcast_mirror_open(struct bcast_ring *ring, struct gpu *gpu, struct error *err)
{
	struct bcast_mirror *mirror = &ring->mirror;
	size_t area = ring->layout.bytes - ring->layout.samples;

	if (gpu == NULL)
		return 0;
	mirror->copied = calloc(ring->layout.places, sizeof(*mirror->copied));
	if (mirror->copied == NULL)
		return error_sys(err, ENOMEM, "cannot make the shared ring");
	mirror->there = gpu_mirror_make(gpu, ring->samples, area, err);
	return mirror->there != NULL ? 0 : -err->code;
}

void bcast_mirror_close(struct bcast_ring *ring)
{
	gpu_mirror_close(ring->mirror.there); /* waits for the driver's thread */
	free(ring->mirror.copied);
}

int bcast_mirror_fd(const struct bcast_ring *ring)
{
	return ring->mirror.there != NULL ? gpu_mirror_fd(ring->mirror.there) : -1;
}

int bcast_mirror_check(const struct bcast_ring *ring, struct error *err)
{
	return ring->mirror.there != NULL ? gpu_mirror_check(ring->mirror.there, err)
					  : 0;
}

int bcast_mirror_finish(const struct bcast_ring *ring, struct error *err)
{
	return ring->mirror.there != NULL ? gpu_mirror_finish(ring->mirror.there, err)
					  : 0;
}

static bool bcast_mirror_has(const struct bcast_ring *ring, uint64_t sequence)
{
	uint64_t place = sequence % ring->layout.places;

	return !(ring->places[place].flags & (BCAST_BAD | BCAST_GAP));
}

/* Where a run of places from `first` on ends that can be copied at once. */
static uint64_t bcast_mirror_run(const struct bcast_ring *ring, uint64_t first,
				 uint64_t end)
{
	uint64_t places = ring->layout.places, turn = first - first % places + places;

	end = end < turn ? end : turn;
	while (first < end && bcast_mirror_has(ring, first))
		first++;
	return first;
}

void bcast_mirror_copy(struct bcast_ring *ring, uint64_t first, uint64_t end)
{
	size_t bytes = ring->layout.sample_bytes;

	while (ring->mirror.there != NULL && first < end) {
		uint64_t next = bcast_mirror_run(ring, first, end);

		if (next > first)
			gpu_mirror_copy(ring->mirror.there,
					first % ring->layout.places * bytes,
					(next - first) * bytes);
		first = next > first ? next : first + 1;
	}
}

/* In a thread of the driver's, call by call in the order of the copies. As a reader that
 * releases: stores `copied`, then loads `hungry`. */
static void bcast_mirror_copied(void *context)
{
	struct bcast_ring *ring = context;
	struct bcast_mirror *mirror = &ring->mirror;

	atomic_store(&ring->header->copied,
		     mirror->copied[mirror->done++ % ring->layout.places]);
	bcast_wake(ring);
	if (atomic_load(&ring->header->hungry) != 0 && ring->watcher != NULL)
		ring->watcher->woke(ring->context);
}

/* There are no more calls on their way than places that are not copied. */
void bcast_mirror_show(struct bcast_ring *ring, uint64_t end)
{
	struct bcast_mirror *mirror = &ring->mirror;

	if (mirror->there == NULL)
		return;
	mirror->copied[mirror->asked++ % ring->layout.places] = end;
	gpu_mirror_call(mirror->there, bcast_mirror_copied, ring);
}
