/* trace.c - makes and maps sessions. */
#include "loader/base/trace.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/host/process.h"
#include "loader/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill_header(struct trace *trace, uint64_t seed)
{
	trace->version = TRACE_VERSION;
	trace->bytes = sizeof(*trace);
	trace->dsa_pid = (uint32_t)getpid();
	trace->dsa_pid_ns = process_namespace();
	trace->dsa_start = process_start(trace->dsa_pid, NULL);
	trace->created_ns = clock_now();
	trace->created_real_ns = clock_real();
	trace->seed = seed;
	memcpy(trace->about, "{}", 3);
	atomic_signal_fence(memory_order_release); /* the magic comes last */
	memcpy(trace->magic, TRACE_MAGIC, sizeof(trace->magic));
}

/* Allocates, maps and fills the file; 0 or -errno. */
static int fill_file(int fd, uint64_t seed, struct trace **made)
{
	int result = io_allocate(fd, sizeof(**made));

	if (result < 0)
		return result;
	*made = mmap(NULL, sizeof(**made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*made == MAP_FAILED) {
		*made = NULL;
		return -errno;
	}
	fill_header(*made, seed);
	return 0;
}

struct trace *trace_create(const char *path, uint64_t seed, struct error *err)
{
	struct trace *trace = NULL;
	bool named;
	int result, fd;

	if (unlink(path) < 0 && errno != ENOENT)
		return error_null(
			error_sys(err, errno, "cannot replace the session %s", path));
	fd = io_new_file(path, &named);
	if (fd < 0)
		return error_null(
			error_sys(err, -fd, "cannot make the session %s", path));
	result = fill_file(fd, seed, &trace);
	if (result == 0 && !named)
		result = io_name_file(fd, path);
	close(fd);
	if (result == 0)
		return trace;
	trace_unmap(trace);
	if (named)
		unlink(path);
	error_sys(err, -result, "cannot make the session %s (%zu MB)", path,
		  sizeof(*trace) >> 20);
	return NULL;
}

/* Reads the head alone first: the rest may not be there. */
static int check_head(int fd, const char *path, struct error *err)
{
	struct {
		char magic[8];
		uint32_t version;
		uint32_t bytes;
	} head;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_sys(err, errno, "cannot read the session %s", path);
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.magic, TRACE_MAGIC, sizeof(head.magic)) != 0)
		return error_set(err, EBADMSG, "%s is no dsa session", path);
	if (head.version != TRACE_VERSION)
		return error_set(err, EPROTO,
				 "session %s has version %u, this is version %u", path,
				 head.version, TRACE_VERSION);
	if (head.bytes != sizeof(struct trace) ||
	    status.st_size < (off_t)sizeof(struct trace))
		return error_set(err, EBADMSG, "the session %s is cut short", path);
	return 0;
}

struct trace *trace_map(const char *path, bool write, struct error *err)
{
	int fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	struct trace *trace = NULL;

	if (fd < 0)
		return error_null(
			error_sys(err, errno, "cannot open the session %s", path));
	if (check_head(fd, path, err) < 0)
		goto out;
	trace = mmap(NULL, sizeof(*trace), PROT_READ | (write ? PROT_WRITE : 0),
		     MAP_SHARED, fd, 0);
	if (trace == MAP_FAILED) {
		error_sys(err, errno, "cannot map the session %s", path);
		trace = NULL;
	}
out:
	close(fd);
	return trace;
}

void trace_unmap(struct trace *trace)
{
	if (trace != NULL)
		munmap(trace, sizeof(*trace));
}
