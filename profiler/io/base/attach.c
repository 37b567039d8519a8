/* attach.c - maps the page, claims a slot. */
#include "profiler/io/base/attach.h"
#include "profiler/io/base/owner.h"
#include "profiler/io/base/raw.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

struct attach attach_self;
static char attach_path[PATH_MAX], attach_spare[PATH_MAX];
static uint32_t attach_own_rank;

static void attach_set(char to[PATH_MAX], const char *path)
{
	size_t length = path != NULL ? strlen(path) : 0;

	if (length < PATH_MAX)
		memcpy(to, path != NULL ? path : "", length + 1);
}

void attach_begin(const char *path, const char *spare, const char *rank)
{
	attach_set(attach_path, path);
	attach_set(attach_spare, spare);
	attach_own_rank = 0;
	for (; rank != NULL && *rank >= '0' && *rank <= '9'; rank++)
		attach_own_rank =
			(attach_own_rank * 10 + (uint32_t)(*rank - '0')) % (1 << 16);
}

/* ---- the page ---- */

static bool attach_fits(const struct io_page *page)
{
	return memcmp(page->magic, IO_MAGIC, sizeof(page->magic)) == 0 &&
	       page->version == IO_VERSION && page->bytes == sizeof(*page);
}

static struct io_page *attach_map(int fd, uint64_t at)
{
	struct io_page *page;

	/* a file that is shorter would be a SIGBUS */
	if (syscall(SYS_lseek, fd, 0, SEEK_END) < (long)(at + sizeof(*page)))
		return NULL;
	page = raw_map(sizeof(*page), PROT_READ | PROT_WRITE, fd, at);
	return page == MAP_FAILED ? NULL : page;
}

static struct io_page *attach_map_first(int fd)
{
	struct io_page *page = attach_map(fd, 0);

	if (page == NULL || attach_fits(page))
		return page;
	raw_unmap(page, sizeof(*page));
	return NULL;
}

/* The rank's own process is the first to map it, with what dsa wrote into the first one. */
static struct io_page *attach_map_rank(int fd, uint32_t rank)
{
	struct io_page *page = attach_map(fd, rank * IO_STRIDE),
		       *first = attach_first();

	if (page != NULL && !attach_fits(page)) {
		page->bytes = sizeof(*page);
		page->version = IO_VERSION;
		page->prep_delay = first->prep_delay;
		memcpy(page->magic, IO_MAGIC, sizeof(page->magic));
	}
	return page;
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
			page = attach_map_first(fd);
		raw_close(fd);
	}
	return page;
}

static struct io_page *attach_open(void)
{
	struct io_page *page = attach_file(attach_path, false), *none = NULL;

	if (page == NULL)
		page = attach_file(attach_spare, true);
	if (page == NULL) {
		attach_path[0] = '\0'; /* never again */
		return NULL;
	}
	if (atomic_compare_exchange_strong(&attach_self.first, &none, page))
		return page;
	raw_unmap(page, sizeof(*page)); /* another thread was faster */
	return none;
}

struct io_page *attach_first(void)
{
	struct io_page *page = atomic_load(&attach_self.first);
	int code = errno;

	if (page == NULL && attach_path[0] != '\0')
		page = attach_open();
	errno = code;
	return page;
}

/* Where the rank's can't be had, nothing may count as the first one's. */
static struct io_page *attach_choose(void)
{
	struct io_page *first = attach_first(), *none = NULL;

	if (first == NULL || (attach_own_rank > 0 && !attach_rank(attach_own_rank)))
		return NULL;
	atomic_compare_exchange_strong(&attach_self.page, &none, first);
	return atomic_load(&attach_self.page);
}

struct io_page *attach_page(void)
{
	struct io_page *page = atomic_load(&attach_self.page);
	int code = errno;

	if (page == NULL && attach_path[0] != '\0')
		page = attach_choose();
	errno = code;
	return page;
}

/* In another namespace of processes it is another file, and the spare one is the page. */
static bool attach_is_page(int fd)
{
	struct io_page *first = attach_map_first(fd);

	if (first != NULL)
		raw_unmap(first, sizeof(*first));
	return first != NULL;
}

bool attach_rank(uint32_t rank)
{
	int fd = rank < IO_RANKS && attach_first() != NULL
			 ? raw_open(attach_path, O_RDWR)
			 : -1;
	struct io_page *page =
		fd >= 0 && attach_is_page(fd) ? attach_map_rank(fd, rank) : NULL;

	if (fd >= 0)
		raw_close(fd);
	if (page == NULL)
		return false;
	attach_own_rank = rank;
	atomic_store(&attach_self.slot, NULL);
	atomic_store(&attach_self.page, page); /* others may read in the one before */
	return true;
}

/* ---- the slot ---- */

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

		if (owner_is_gone(owner) &&
		    atomic_compare_exchange_strong(&page->slots[i].owner, &owner, me))
			return &page->slots[i];
	}
	return NULL;
}

static struct io_slot *attach_claim(struct io_page *page)
{
	uint64_t me = owner_self();
	struct io_slot *slot = attach_claim_free(page, me);

	if (slot == NULL && me >> IO_PID_BITS > 0) /* without /proc all seem gone */
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
