/* io_page.c - makes the page of a program that nobody changed, and adds it up. */
#include "profiler/io_page.h"
#include "loader/base/error.h"
#include "loader/base/io.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of a file that has its size. 0 or -errno. */
static int io_page_fill(int fd, struct io_page **made)
{
	struct io_page *page =
		mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	page->version = IO_VERSION;
	page->bytes = sizeof(*page);
	memcpy(page->magic, IO_MAGIC, sizeof(page->magic));
	*made = page;
	return 0;
}

/* What dsa itself writes and looks at is there, or a full disk would be its SIGBUS. */
static int io_page_allocate(int fd, enum io_page_room room)
{
	int result;

	if (room == IO_WHOLE)
		return io_allocate(fd, sizeof(struct io_page));
	result = io_truncate(fd, sizeof(struct io_page));
	return result < 0 ? result : io_allocate(fd, offsetof(struct io_page, slots));
}

struct io_page *io_page_create(const char *path, enum io_page_room room,
			       struct error *err)
{
	struct io_page *page = NULL;
	bool named;
	int fd = io_new_file(path, &named), result = fd;

	if (fd >= 0) {
		result = io_page_allocate(fd, room);
		if (result == 0)
			result = io_page_fill(fd, &page);
		if (result == 0 && !named)
			result = io_name_file(fd, path);
		close(fd);
	}
	if (result >= 0)
		return page;
	io_page_unmap(page);
	if (fd >= 0 && named)
		unlink(path);
	error_sys(err, -result, "cannot make %s (%zu MB)", path, sizeof(*page) >> 20);
	return NULL;
}

struct io_page *io_page_memory(int *memory)
{
	struct io_page *page = NULL;
	int fd = memfd_create("dsa-io", MFD_CLOEXEC);

	/* where a file may not be so large no other rank has a page */
	if (fd >= 0 && (io_truncate(fd, IO_RANKS * IO_STRIDE) == 0 ||
			io_truncate(fd, sizeof(*page)) == 0))
		io_page_fill(fd, &page);
	if (fd >= 0 && page == NULL)
		close(fd);
	*memory = page != NULL ? fd : 0;
	return page;
}

void io_page_unmap(struct io_page *page)
{
	if (page != NULL)
		munmap(page, sizeof(*page));
}

uint64_t io_page_total(const struct io_page *page, enum io_counter which)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < IO_SLOTS; i++)
		total += page->slots[i].counters[which];
	return total;
}
