/* meter.c - counts calls: how many, how long, what they brought. */
#include "profiler/io/meter.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"
#include "profiler/io/batch.h"
#include "profiler/io/emulated.h"
#include "profiler/io/kept/written_files.h"
#include "profiler/io/parts.h"
#include "profiler/io/ranges.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

_Thread_local uint32_t meter_inside __attribute__((tls_model("initial-exec")));
_Thread_local uint64_t meter_own_ns __attribute__((tls_model("initial-exec")));

/* ---- reads ---- */

static enum fd_kind meter_look(struct meter *meter)
{
	int code = errno;
	enum fd_kind kind = fd_look(meter->fd, meter->batch, &meter->entry);

	if (kind != FD_DATA)
		meter->entry = NULL;
	if (kind == FD_SOCKET_NEW) {
		attach_add(meter->slot, IO_sockets, 1);
		batch_flag(IO_SOCKET);
	}
	errno = code;
	return kind;
}

void meter_enter(struct meter *meter)
{
	if (meter_inside == meter->batch) {
		meter->slot = NULL;
		return;
	}
	if (meter_look(meter) != FD_DATA)
		return;
	meter_inside = meter->batch;
	meter->since = clock_now();
}

/* The time that the call took, up to now or, of the emulated storage, `due`. */
static void meter_end(const struct meter *meter, uint64_t due)
{
	uint64_t took;

	if (due > meter->since)
		clock_sleep_until(due);
	took = clock_now() - meter->since;
	attach_add(meter->slot, IO_io_ns, took);
	meter_own_ns += took;
	meter_inside = 0;
}

static uint64_t meter_throttle(struct meter *meter, uint64_t from, uint64_t bytes)
{
	const struct emulated_read read = {meter->since, from, from + bytes};
	struct io_page *page = attach_self.first;

	if (!page->throttled)
		return 0;
	return emulated_read(page, meter->slot, meter->entry, &read);
}

void meter_data(struct meter *meter, uint64_t from, uint64_t bytes)
{
	struct io_page *page = attach_self.page;
	uint64_t due = 0;
	int code = errno;

	attach_add(meter->slot, IO_reads, 1);
	attach_add(meter->slot, IO_bytes, bytes);
	if (bytes > 0) {
		batch_digest(meter->entry->file, from, bytes);
		if (page->listing)
			ranges_read(page, meter->fd, meter->entry, from, from + bytes);
		due = meter_throttle(meter, from, bytes);
	}
	meter_end(meter, due);
	errno = code;
}

/* Where a read began that has moved the descriptor. */
static uint64_t meter_moved(struct meter *meter, uint64_t bytes)
{
	int code = errno;
	uint64_t position = (uint64_t)raw_position(meter->fd);

	errno = code;
	meter->entry->position = position;
	return position - bytes;
}

ssize_t meter_read(struct meter *meter, ssize_t got, int64_t at)
{
	uint64_t bytes = got > 0 ? (uint64_t)got : 0;

	if (meter->entry != NULL)
		meter_data(meter,
			   at == METER_CURRENT ? meter_moved(meter, bytes)
					       : (uint64_t)at,
			   bytes);
	else if (meter->slot != NULL)
		attach_add(meter->slot, IO_other_bytes, bytes);
	return got;
}

/* ---- opening ---- */

struct meter meter_begin_open(void)
{
	struct meter meter = {.slot = attach_self.slot, .fd = -1};

	if (meter.slot != NULL)
		meter.batch = attach_self.batch;
	if (meter.batch != 0 && meter_inside == meter.batch)
		meter.slot = NULL;
	else if (meter.batch != 0)
		meter.since = clock_now();
	return meter;
}

static void meter_open_data(struct meter *meter)
{
	struct io_page *page = attach_self.first;
	uint64_t due = 0;

	attach_add(meter->slot, IO_opens, 1);
	batch_digest(meter->entry->file, UINT64_MAX, 0);
	if (page->throttled)
		due = emulated_open(page, meter->slot, meter->since);
	meter_end(meter, due);
}

static void meter_open_read(struct meter *meter, const char *path)
{
	if (meter->since > 0)
		meter->entry = fd_opened(meter->fd, meter->batch, path, meter->since);
	if (meter->entry == NULL) {
		attach_add(meter->slot, IO_other_opens, 1);
		return;
	}
	parts_opened(path);
	meter_open_data(meter);
}

/* What a file that was there is opened for. */
static bool meter_reads(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY && (flags & (O_TRUNC | O_PATH)) == 0;
}

static bool meter_writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
}

int meter_opened(struct meter *meter, int fd, const char *path, int flags)
{
	int code = errno;

	meter->fd = fd;
	if (fd < 0)
		return fd;
	if (meter_writes(flags) && attach_first() != NULL)
		written_opened(attach_self.first, fd);
	if (meter->slot != NULL && meter_reads(flags))
		meter_open_read(meter, path);
	else if (meter->slot != NULL)
		fd_forget(fd);
	errno = code;
	return fd;
}

/* ---- mapping ---- */

/* Memory that processes share is mapped from files, too, in /dev/shm. */
static bool meter_in_memory(int fd)
{
	char path[PATH_MAX];

	return data_path_of(fd, path, sizeof(path)) > 0 &&
	       strncmp(path, "/dev/", 5) == 0;
}

void meter_mapped(int fd)
{
	struct meter meter = meter_begin(fd);
	int code = errno;

	if (meter.entry == NULL)
		return;
	meter_inside = 0;
	if (!meter_in_memory(fd)) {
		attach_add(meter.slot, IO_maps, 1);
		batch_flag(IO_MAPPED);
	}
	errno = code;
}
