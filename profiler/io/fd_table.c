/* fd_table.c - looks at descriptors by fstat and the names of /proc/self/fd. */
#include "profiler/io/fd_table.h"
#include "loader/base/random.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"
#include "profiler/io/batch.h"

#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static struct fd_entry fd_entries[FD_TABLE];

static struct fd_entry *fd_at(int fd)
{
	return fd >= 0 && fd < FD_TABLE ? &fd_entries[fd] : NULL;
}

static void fd_know(struct fd_entry *entry, uint32_t batch, enum fd_kind kind)
{
	atomic_store_explicit(&entry->known, batch << 2 | kind, memory_order_release);
}

static void fd_set_data(struct fd_entry *entry, const struct stat *status)
{
	entry->file = random_seed(status->st_dev, status->st_ino, 0);
	entry->range = 0;
	entry->begin = entry->end = entry->position = 0;
	entry->opened_ns = entry->saved_ns = 0;
}

/* The address of one end; all else is 0. False: it has none. */
static bool fd_end(int fd, long call, struct sockaddr_in6 *end)
{
	socklen_t size = sizeof(*end);

	memset(end, 0, sizeof(*end));
	if (syscall(call, fd, end, &size) < 0)
		return false;
	end->sin6_port = 0; /* where that of IPv4 is, too */
	return true;
}

/* Of a process that is a rank of a job: from a port of the machine to another, in another thread
 * than makes a batch meanwhile, as by which ranks meet. */
static bool fd_joins_ranks(int fd)
{
	const struct io_page *page = attach_self.first;
	struct sockaddr_in6 own, peer;

	return page != NULL && page->world > 1 && !batch_is_own() &&
	       fd_end(fd, SYS_getsockname, &own) &&
	       fd_end(fd, SYS_getpeername, &peer) &&
	       memcmp(&own, &peer, sizeof(own)) == 0;
}

/* Over a network, and not within the machine. */
static bool fd_connects(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) ==
		       0 &&
	       (domain == AF_INET || domain == AF_INET6) && !fd_joins_ranks(fd);
}

static bool fd_has_data_path(int fd)
{
	char path[PATH_MAX];

	return data_path_of(fd, path, sizeof(path)) > 0 && data_path(path);
}

static enum fd_kind fd_find_out(int fd, struct fd_entry *entry)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FD_OTHER;
	if (S_ISSOCK(status.st_mode))
		return fd_connects(fd) ? FD_SOCKET : FD_OTHER;
	if (!S_ISREG(status.st_mode) || !fd_has_data_path(fd))
		return FD_OTHER;
	fd_set_data(entry, &status);
	entry->position = (uint64_t)raw_position(fd);
	entry->begin = entry->end = UINT64_MAX; /* wherever it is read is a seek */
	return FD_DATA;
}

enum fd_kind fd_look(int fd, uint32_t batch, struct fd_entry **entry)
{
	struct fd_entry *at = fd_at(fd);
	uint32_t known;
	enum fd_kind kind;

	if (at == NULL)
		return FD_OTHER;
	*entry = at;
	known = atomic_load_explicit(&at->known, memory_order_acquire);
	if (known >> 2 == batch && known % 4 != FD_UNKNOWN)
		return (enum fd_kind)(known % 4);
	kind = fd_find_out(fd, at);
	fd_know(at, batch, kind);
	return kind == FD_SOCKET ? FD_SOCKET_NEW : kind;
}

struct fd_entry *fd_opened(int fd, uint32_t batch, const char *path, uint64_t since)
{
	struct fd_entry *entry = fd_at(fd);
	struct stat status;

	if (entry == NULL)
		return NULL;
	if (!data_path(path) || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		fd_know(entry, batch, FD_OTHER);
		return NULL;
	}
	fd_set_data(entry, &status);
	entry->opened_ns = since;
	fd_know(entry, batch, FD_DATA);
	return entry;
}

void fd_forget(int fd)
{
	struct fd_entry *entry = fd_at(fd);

	if (entry != NULL)
		atomic_store_explicit(&entry->known, 0, memory_order_relaxed);
}

uint64_t fd_fresh(struct fd_entry *entry, uint64_t from, uint64_t to, bool *seek)
{
	uint64_t end = entry->end;

	*seek = from > end || from < entry->begin;
	if (!*seek && to <= end)
		return 0;
	if (*seek)
		entry->begin = from;
	entry->end = to;
	return *seek ? to - from : to - end;
}
