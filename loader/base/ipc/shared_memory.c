/* shared_memory.c - makes, faults in and seals a memfd. */
#include "loader/base/ipc/shared_memory.h"
#include "loader/base/error.h"
#include "loader/base/host/cgroup.h"
#include "loader/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* What is too little to be asked about: a reader's page. */
enum { FEW = 1 << 20 };

size_t shared_page(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	return bytes > 4096 ? (size_t)bytes : 4096;
}

size_t shared_round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

void shared_memory_own(void *start, size_t bytes)
{
	madvise(start, bytes, MADV_DONTFORK);
}

void *shared_memory_room(size_t bytes)
{
	char *room = mmap(NULL, bytes + SHARED_HUGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (room == MAP_FAILED)
		return MAP_FAILED;
	start = (char *)shared_round_up((size_t)room, SHARED_HUGE_PAGE);
	if (start > room)
		munmap(room, (size_t)(start - room));
	if (start < room + SHARED_HUGE_PAGE)
		munmap(start + bytes, SHARED_HUGE_PAGE - (size_t)(start - room));
	return start;
}

/*
 * Allocates and maps every page now: a later fault would cost 430 us an image, and on a
 * machine without memory it would be a SIGBUS. Collapsing the empty file gives huge
 * pages at once, where small ones would have to be copied.
 */
static int fault_in(struct shared_memory *memory, size_t huge_from)
{
	char *start = memory->start;
	size_t huge = (memory->bytes - huge_from) / SHARED_HUGE_PAGE * SHARED_HUGE_PAGE;
	int result;

	for (size_t at = 0; at < huge; at += SHARED_HUGE_PAGE)
		start[huge_from + at] = 0; /* there must be something to collapse */
	memory->huge = huge > 0 && madvise(start + huge_from, huge, MADV_COLLAPSE) == 0;
	result = io_allocate(memory->fd, memory->bytes);
	if (result < 0)
		return result;
	madvise(start, memory->bytes,
		MADV_POPULATE_WRITE); /* Linux 5.14; else on use */
	return 0;
}

static int shared_memory_create(struct shared_memory *memory,
				const struct shared_memory_config *config)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL |
		    (config->read_only ? F_SEAL_FUTURE_WRITE : 0);
	void *room;
	int result;

	memory->fd = memfd_create(config->name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory->fd < 0)
		return -errno;
	result = io_truncate(memory->fd, config->bytes);
	if (result < 0)
		return result;
	room = shared_memory_room(config->bytes);
	if (room == MAP_FAILED)
		return -errno;
	memory->start = room;
	memory->bytes = config->bytes;
	if (mmap(room, config->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 memory->fd, 0) == MAP_FAILED)
		return -errno;
	shared_memory_own(room, config->bytes);
	result = fault_in(memory, config->huge_from);
	if (result == 0 && fcntl(memory->fd, F_ADD_SEALS, seals) < 0)
		result = -errno;
	return result;
}

int shared_memory_make(struct shared_memory *memory,
		       const struct shared_memory_config *config)
{
	int result;

	*memory = (struct shared_memory){.fd = -1};
	/* all is touched at once: a control group would kill for it without a word */
	if (config->bytes > FEW && config->bytes > cgroup_memory_most(""))
		return -EDQUOT;
	result = shared_memory_create(memory, config);
	if (result < 0)
		shared_memory_free(memory);
	return result;
}

int shared_memory_fail(struct error *err, int result, size_t bytes, const char *advice)
{
	if (result == -EDQUOT)
		return error_set(err, ENOMEM,
				 "cannot make %zu MB of shared memory: its control "
				 "group allows %llu MB (%s?)",
				 bytes >> 20,
				 (unsigned long long)cgroup_memory_most("") >> 20,
				 advice);
	return error_sys(err, -result, "cannot make %zu MB of shared memory (%s?)",
			 bytes >> 20, advice);
}

void shared_memory_free(struct shared_memory *memory)
{
	if (memory->start != NULL)
		munmap(memory->start, memory->bytes);
	if (memory->fd >= 0)
		close(memory->fd);
	*memory = (struct shared_memory){.fd = -1};
}
