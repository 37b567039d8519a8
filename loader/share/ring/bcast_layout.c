/* bcast_layout.c - where things lie in the ring's memory, for those who make it and for
 * those who must not trust it. */
#include "loader/base/error.h"
#include "loader/share/ring/bcast_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A file of holes may be of any size; what is copied of it is memory. */
#define PLACES_MOST (UINT64_C(1) << 22)

bool bcast_lay_out(struct bcast_layout *layout, uint64_t places, uint64_t sample_bytes)
{
	size_t page = shared_page();
	uint64_t area, before;

	if (places == 0 || places > PLACES_MOST || sample_bytes == 0 ||
	    __builtin_mul_overflow(places, sample_bytes, &area) ||
	    area > INT64_MAX / 8 || area % page != 0)
		return false;
	*layout = (struct bcast_layout){
		.magic = BCAST_MAGIC,
		.places = (uint32_t)places,
		.sample_bytes = sample_bytes,
	};
	layout->descriptors = shared_round_up(sizeof(struct bcast_header), page);
	before = layout->descriptors + places * sizeof(struct bcast_place);
	layout->samples = shared_round_up(
		before, area >= 2 * SHARED_HUGE_PAGE ? SHARED_HUGE_PAGE : page);
	layout->bytes = layout->samples + area;
	return true;
}

static int bcast_layout_check_file(int fd, uint64_t *bytes, struct error *err)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	if (seals < 0 || (seals & needed) != needed)
		return error_set(err, EBADMSG,
				 "the shared memory is not sealed as a shared ring is");
	if (fstat(fd, &status) < 0)
		return error_sys(err, errno, "cannot look at the shared memory");
	*bytes = (uint64_t)status.st_size;
	return 0;
}

static int bcast_layout_check(struct bcast_layout *layout,
			      const struct bcast_layout *said, uint64_t bytes,
			      struct error *err)
{
	if (said->magic != BCAST_MAGIC)
		return error_set(err, EBADMSG,
				 "the shared memory is no shared ring of this version");
	if (!bcast_lay_out(layout, said->places, said->sample_bytes) ||
	    layout->bytes != bytes)
		return error_set(
			err, EBADMSG,
			"the shared ring says that it has %u places of %llu bytes, "
			"which %llu bytes of memory do not hold",
			said->places, (unsigned long long)said->sample_bytes,
			(unsigned long long)bytes);
	layout->audit = said->audit != 0;
	return 0;
}

int bcast_look(int fd, struct bcast_layout *layout, const struct bcast_header **header,
	       struct error *err)
{
	struct bcast_layout said;
	uint64_t bytes = 0;
	int result = bcast_layout_check_file(fd, &bytes, err);
	void *mapped;

	if (result < 0)
		return result;
	if (bytes < sizeof(struct bcast_header))
		return error_set(
			err, EBADMSG,
			"%llu bytes of shared memory are too short for a shared ring",
			(unsigned long long)bytes);
	mapped = mmap(NULL, sizeof(struct bcast_header), PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_sys(err, errno, "cannot map the shared ring");
	memcpy(&said, mapped, sizeof(said));
	munmap(mapped, sizeof(struct bcast_header));
	result = bcast_layout_check(layout, &said, bytes, err);
	if (result < 0)
		return result;
	mapped = mmap(NULL, layout->samples, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_sys(err, errno, "cannot map the shared ring");
	*header = mapped;
	return 0;
}

void bcast_unlook(const struct bcast_header *header, const struct bcast_layout *layout)
{
	munmap((void *)(uintptr_t)header, layout->samples);
}
