/* io_list.c - brings the files of a list into the page cache, and out of it. */
#include "loader/base/random.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/base/coverage.h"
#include "profiler/io/base/raw.h"
#include "profiler/io/dsa_io.h"
#include "profiler/io/residency.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	PAGE = 4096,
	STRETCH = 1 << 21, /* of a long file: has one draw. As long as the largest
			    * piece of a page cache, which goes only as a whole */
	BUFFER = 1 << 16,
};

/* ---- which ---- */

static bool io_list_drawn(const struct io_range *range, const char *path, double share,
			  uint64_t seed)
{
	struct random random = {random_seed(seed, range->from / STRETCH, 0)};

	for (const char *at = path; *at != '\0'; at++)
		random.state = random_mix(random.state ^ (unsigned char)*at);
	return random_unit(&random) < share;
}

/* What is done with a range of an open file; 0 or -errno. */
typedef int io_list_act(int fd, const struct io_range *range, void *arg);

static int io_list_apply(const char *path, const struct io_range *range,
			 io_list_act *act, void *arg)
{
	int fd = raw_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK), result;

	if (fd < 0)
		return -errno;
	result = act(fd, range, arg);
	raw_close(fd);
	return result;
}

struct io_list_draw {
	double share;
	uint64_t seed;
};

static int io_list_each(const struct io_list_draw *draw, io_list_act *act, void *arg)
{
	struct io_page *page = attach_page();
	int first = 0;

	for (uint64_t i = 0; page != NULL && i < page->range_count && i < IO_RANGES;
	     i++) {
		const struct io_range *range = &page->ranges[i];
		const char *path = page->paths + range->path;
		int result = 0;

		if (range->number == i + 1 &&
		    io_list_drawn(range, path, draw->share, draw->seed))
			result = io_list_apply(path, range, act, arg);
		if (first == 0)
			first = result;
	}
	return first;
}

/* ---- what ---- */

/* Reads no more than asked: what lies beside it may have been evicted for a reason. */
static int io_list_read(int fd, const struct io_range *range, void *arg)
{
	char buffer[BUFFER];

	(void)arg;
	syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t from = range->from; from < range->to;) {
		uint64_t left = range->to - from;
		ssize_t got =
			raw_pread(fd, buffer, left < BUFFER ? left : BUFFER, from);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -ENODATA; /* the file is shorter now */
		if (got > 0)
			coverage_own((uint64_t)got);
		from += got > 0 ? (uint64_t)got : 0;
	}
	return 0;
}

/* All of a stretch shares its fate, so that no piece stays that lies across two ranges. */
static int io_list_evict(int fd, const struct io_range *range, void *arg)
{
	uint64_t from = range->from / STRETCH * STRETCH, end = from + STRETCH;
	uint64_t to = (range->to + PAGE - 1) / PAGE * PAGE;
	uint64_t length = (to > end ? to : end) - from, *bytes = arg;

	/* Dirty pages would stay. fdatasync() would wait for a journal too. */
	syscall(SYS_sync_file_range, fd, from, length,
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			SYNC_FILE_RANGE_WAIT_AFTER);
	if (syscall(SYS_fadvise64, fd, from, length, POSIX_FADV_DONTNEED) < 0)
		return -errno;
	*bytes += range->to - range->from;
	return 0;
}

struct io_list_sum {
	uint64_t bytes, resident;
};

static int io_list_resident(int fd, const struct io_range *range, void *arg)
{
	struct io_list_sum *sum = arg;
	uint64_t resident = 0, length = range->to - range->from;
	int result = residency(fd, range->from, length, &resident);

	sum->bytes += length;
	sum->resident += resident;
	return result;
}

/* ---- for the hook ---- */

int dsa_io_list_read(double share, uint64_t seed)
{
	return io_list_each(&(struct io_list_draw){share, seed}, io_list_read, NULL);
}

int dsa_io_list_evict(double share, uint64_t seed, uint64_t *bytes)
{
	*bytes = 0;
	return io_list_each(&(struct io_list_draw){share, seed}, io_list_evict, bytes);
}

int dsa_io_list_resident(uint64_t *bytes, uint64_t *resident)
{
	struct io_list_sum sum = {0};
	int result = io_list_each(&(struct io_list_draw){1, 0}, io_list_resident, &sum);

	*bytes = sum.bytes;
	*resident = sum.resident;
	return result;
}

void dsa_io_list_clear(void)
{
	struct io_page *page = attach_page();

	if (page == NULL)
		return;
	for (uint64_t i = 0; i < page->range_count && i < IO_RANGES; i++)
		page->ranges[i].number = 0;
	page->range_count = page->path_bytes = 0;
}
