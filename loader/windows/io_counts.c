/* io_counts.c - reads /proc/PID/io, and leaves out what is the loader's. */
#include "loader/io_counts.h"
#include "loader/base/clock.h"
#include "loader/base/host/descendants.h"
#include "loader/base/host/procfs.h"
#include "loader/driver.h"
#include "loader/fetch.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 4 }; /* while processes end that were listed, and the loader reads */

#define MS       UINT64_C(1000000)
#define PATIENCE (100 * MS) /* observed windows are few, and counted exactly */

struct io_counts {
	uint64_t storage_bytes;
	struct driver_reads calls;
	bool whole, exact;
};

static bool io_counts_read(struct driver *driver, uint32_t pid, struct io_counts *to)
{
	char text[512];
	int length = procfs_read(text, sizeof(text), "", "/proc/%u/io", pid);

	if (length <= 0 || !procfs_value(text, "read_bytes:", &to->storage_bytes) ||
	    !procfs_value(text, "syscr:", &to->calls.count) ||
	    !procfs_value(text, "rchar:", &to->calls.bytes))
		return false;
	driver->looks.count++;
	driver->looks.bytes += (unsigned)length;
	return true;
}

/* The driver's process; of its calls without the loader's and the driver's own. They are
 * exact unless the loader read meanwhile. */
static bool io_counts_read_own(struct driver *driver, const struct fetch *fetch,
			       uint32_t self, struct io_counts *to)
{
	struct driver_reads looks = driver->looks; /* the one now is not counted yet */
	struct fetch_stats before = {0}, after = {0};

	if (fetch != NULL)
		fetch_stats(fetch, &before);
	if (!io_counts_read(driver, self, to))
		return false;
	if (fetch != NULL)
		fetch_stats(fetch, &after);
	to->calls.count -= after.read_calls + looks.count;
	to->calls.bytes -= after.read_call_bytes + looks.bytes;
	to->exact = before.read_calls == after.read_calls_begun;
	return true;
}

/* One that ended after it was listed is its parent's, which was read before. */
static bool io_counts_add(struct driver *driver, const struct descendants *tree,
			  struct io_counts *sum)
{
	for (unsigned i = 1; i < tree->count; i++) {
		struct io_counts more;

		if (!io_counts_read(driver, tree->pids[i], &more))
			return false;
		sum->calls.count += more.calls.count;
		sum->calls.bytes += more.calls.bytes;
	}
	return true;
}

/* Its number in /proc, which may be of another namespace. */
static uint32_t io_counts_self(void)
{
	char text[16];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = '\0';
	return (uint32_t)strtoul(text, NULL, 10);
}

static bool io_counts_has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The driver's process and, for real windows, all that descends from it. */
static bool io_counts_list(struct driver *driver, struct descendants *tree)
{
	uint32_t self = io_counts_self();
	bool whole;

	tree->pids[0] = self;
	tree->count = 1;
	if (driver->window->kind != TRACE_REAL || !io_counts_has_children())
		return true;
	whole = descendants_list(tree, self);
	driver->looks.count += tree->reads;
	driver->looks.bytes += tree->bytes;
	return whole;
}

/* False: it can't be. */
static bool io_counts_try(struct driver *driver, const struct fetch *fetch,
			  struct io_counts *counts)
{
	struct descendants tree = {.root = ""};
	bool listed = io_counts_list(driver, &tree);

	if (!io_counts_read_own(driver, fetch, tree.pids[0], counts))
		return false;
	counts->whole = listed && io_counts_add(driver, &tree, counts);
	return true;
}

/* Whether to try again; of an observed window with the fetch's next reads held back. */
static bool io_counts_lacks(const struct io_counts *counts, struct fetch *fetch,
			    int tries, uint64_t until)
{
	uint64_t now = clock_now();

	if (counts->whole && counts->exact)
		return false;
	if (tries >= TRIES && now < until) {
		if (fetch != NULL)
			fetch_hold(fetch, true);
		clock_sleep_until(now + MS / 10);
	}
	return tries < TRIES || now < until;
}

void io_counts_take(struct driver *driver, struct fetch *fetch,
		    struct trace_snapshot *snapshot)
{
	bool exactly = driver->trace->observe;
	uint64_t until = exactly ? clock_now() + PATIENCE : 0;
	struct io_counts counts;
	bool known;
	int tries = 0;

	do {
		known = io_counts_try(driver, fetch, &counts);
	} while (known && io_counts_lacks(&counts, fetch, ++tries, until));
	if (fetch != NULL)
		fetch_hold(fetch, false);
	if (!known)
		return;
	snapshot->read_bytes = counts.storage_bytes;
	if (!counts.whole || (exactly && !counts.exact) ||
	    driver->window->kind != TRACE_REAL)
		return;
	snapshot->program_reads = counts.calls.count;
	snapshot->program_bytes = counts.calls.bytes;
}
