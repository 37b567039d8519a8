/* attach.c - maps the page, claims a slot. */
#include "profiler/io/base/attach.h"
#include "loader/base/host/process.h"
#include "profiler/io/base/raw.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

struct attach attach_self;
static char attach_path[PATH_MAX], attach_spare[PATH_MAX];

static void attach_set(char to[PATH_MAX], const char *path)
{
	size_t length = path != NULL ? strlen(path) : 0;

	if (length < PATH_MAX)
		memcpy(to, path != NULL ? path : "", length + 1);
}

void attach_begin(const char *path, const char *spare)
{
	attach_set(attach_path, path);
	attach_set(attach_spare, spare);
}

/* ---- the page ---- */

static bool attach_fits(const struct io_page *page)
{
	return memcmp(page->magic, IO_MAGIC, sizeof(page->magic)) == 0 &&
	       page->version == IO_VERSION && page->bytes == sizeof(*page);
}

static struct io_page *attach_map(int fd)
{
	struct io_page *page;

	/* a file that is shorter would be a SIGBUS */
	if (syscall(SYS_lseek, fd, 0, SEEK_END) < (long)sizeof(*page))
		return NULL;
	page = raw_map(sizeof(*page), PROT_READ | PROT_WRITE, fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (attach_fits(page))
		return page;
	raw_unmap(page, sizeof(*page));
	return NULL;
}

/* A file system that can't allocate has the room later, or has none. */
static bool attach_has_room(int fd)
{
	return raw_allocate(fd, sizeof(struct io_page)) == 0 || errno == EOPNOTSUPP;
}

static struct io_page *attach_file(const char *path, bool sparse)
{
	int fd = path[0] != '\0' ? raw_open(path, O_RDWR) : -1;
	struct io_page *page = NULL;

	if (fd >= 0) {
		if (!sparse || attach_has_room(fd))
			page = attach_map(fd);
		raw_close(fd);
	}
	return page;
}

static struct io_page *attach_open(void)
{
	struct io_page *page = attach_file(attach_path, false), *first = NULL;

	if (page == NULL)
		page = attach_file(attach_spare, true);
	if (page == NULL) {
		attach_path[0] = '\0'; /* never again */
		return NULL;
	}
	if (atomic_compare_exchange_strong(&attach_self.page, &first, page))
		return page;
	raw_unmap(page, sizeof(*page)); /* another thread was faster */
	return first;
}

struct io_page *attach_page(void)
{
	struct io_page *page = atomic_load(&attach_self.page);
	int code = errno;

	if (page == NULL && attach_path[0] != '\0')
		page = attach_open();
	errno = code;
	return page;
}

/* ---- the slot ---- */

static bool attach_gone(uint64_t owner)
{
	uint32_t pid = (uint32_t)(owner & ((1u << IO_PID_BITS) - 1));

	return process_start(pid, NULL) != owner >> IO_PID_BITS;
}

/* One of nobody's, or of this process already, as before exec(). */
static struct io_slot *attach_claim_free(struct io_page *page, uint64_t me)
{
	for (unsigned i = 0; i < IO_SLOTS; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&page->slots[i].owner, &none, me) ||
		    none == me)
			return &page->slots[i];
	}
	return NULL;
}

static struct io_slot *attach_claim_gone(struct io_page *page, uint64_t me)
{
	for (unsigned i = 0; i < IO_SLOTS; i++) {
		uint64_t owner = atomic_load(&page->slots[i].owner);

		if (attach_gone(owner) &&
		    atomic_compare_exchange_strong(&page->slots[i].owner, &owner, me))
			return &page->slots[i];
	}
	return NULL;
}

static struct io_slot *attach_claim(struct io_page *page)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t start = process_start(pid, NULL);
	uint64_t me = start << IO_PID_BITS | pid;
	struct io_slot *slot = attach_claim_free(page, me);

	if (slot == NULL && start > 0) /* without /proc all seem to be gone */
		slot = attach_claim_gone(page, me);
	if (slot == NULL)
		atomic_fetch_add(&page->dropped_processes, 1);
	return slot;
}

struct io_slot *attach_slot(void)
{
	struct io_slot *slot = atomic_load(&attach_self.slot);
	struct io_page *page = slot == NULL ? attach_page() : NULL;

	if (page == NULL)
		return slot;
	slot = attach_claim(page);
	atomic_store(&attach_self.slot, slot);
	return slot;
}

/* ---- fork ---- */

void attach_forked(void)
{
	atomic_fetch_add(&attach_self.forks, 1);
}

void attach_child(void)
{
	atomic_store(&attach_self.slot, NULL);
	atomic_store(&attach_self.batch, 0);
}
