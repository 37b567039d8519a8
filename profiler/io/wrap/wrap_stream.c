/*
 * wrap_stream.c - stands before streams. A call may be served from a stream's buffer, or
 * fill that from its file, or both; what it brought from the file shows in where the
 * descriptor stands, and is asked for where the buffer is not as it was.
 */
#include "profiler/io/base/raw.h"
#include "profiler/io/kept/written_files.h"
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A call, and the stream's buffer before it. */
struct stream {
	struct meter meter;
	FILE *file;
	const char *base, *at, *end;
};

static struct stream stream_begin(FILE *file)
{
	struct stream stream = {.meter = meter_begin(file->_fileno), .file = file};

	if (stream.meter.entry == NULL)
		return stream;
	stream.base = file->_IO_read_base;
	stream.at = file->_IO_read_ptr;
	stream.end = file->_IO_read_end;
	return stream;
}

/* `wanted` bytes were asked for; 0: it is not known how many. */
static bool stream_was_filled(const struct stream *stream, size_t wanted)
{
	const FILE *file = stream->file;

	return stream->at == stream->end ||
	       wanted > (size_t)(stream->end - stream->at) ||
	       file->_IO_read_base != stream->base ||
	       file->_IO_read_end != stream->end || file->_IO_read_ptr < stream->at;
}

/* Where the descriptor stands now, and stood after the call before. */
static uint64_t stream_move(struct stream *stream, uint64_t *before)
{
	struct fd_entry *entry = stream->meter.entry;
	int code = errno;

	*before = entry->position;
	entry->position = (uint64_t)raw_position(stream->meter.fd);
	errno = code;
	return entry->position;
}

/* After a call that reads in a row; `got`: of a process that makes no batch. */
static void stream_read(struct stream *stream, size_t wanted, size_t got)
{
	uint64_t before, now;

	if (stream->meter.entry == NULL) {
		meter_read(&stream->meter, (ssize_t)got, 0);
		return;
	}
	meter_inside = 0;
	if (!stream_was_filled(stream, wanted))
		return;
	now = stream_move(stream, &before);
	if (now > before)
		meter_data(&stream->meter, before, now - before);
}

/* What calls that have no wrapper filled the buffer with, as getc() does: before it goes.
 * One that has none was never read as a stream: file streams of C++ are so. */
static void stream_settle(FILE *file)
{
	struct stream stream;

	if (file->_IO_read_base == NULL)
		return;
	stream = stream_begin(file);
	stream_read(&stream, SIZE_MAX, 0);
}

/* After a call that goes elsewhere: it fills the buffer from there, or has it already, but
 * for the place where that ends, to which the C library fills it again. */
static void stream_sought(struct stream *stream)
{
	const FILE *file = stream->file;
	uint64_t before, now, filled;

	if (stream->meter.entry == NULL)
		return;
	meter_inside = 0;
	now = stream_move(stream, &before);
	filled = (uint64_t)(file->_IO_read_end - file->_IO_read_base);
	if ((now != before || file->_IO_read_ptr == file->_IO_read_end) && filled > 0)
		meter_data(&stream->meter, now - filled, filled);
}

/* ---- opening ---- */

static int stream_flags(const char *mode)
{
	int flags = mode[0] == 'w' ? O_TRUNC : 0;

	if (strchr(mode, 'x') != NULL)
		flags |= O_EXCL;
	if (strchr(mode, '+') != NULL)
		return flags | O_RDWR;
	return flags | (mode[0] == 'r' ? O_RDONLY : O_WRONLY);
}

static struct meter stream_begin_open(const char *path, const char *mode)
{
	if (path != NULL && (stream_flags(mode) & (O_TRUNC | O_EXCL)) == O_TRUNC)
		written_truncates(AT_FDCWD, path);
	return meter_begin_open();
}

static FILE *stream_opened(struct meter *meter, FILE *file, const char *path,
			   const char *mode)
{
	if (file != NULL && path != NULL)
		meter_opened(meter, file->_fileno, path, stream_flags(mode));
	return file;
}

#define WRAP_FOPEN(name)                                                               \
	FILE *name(const char *path, const char *mode)                                 \
	{                                                                              \
		struct meter meter = stream_begin_open(path, mode);                    \
                                                                                       \
		return stream_opened(&meter, real.name(path, mode), path, mode);       \
	}
WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)

#define WRAP_FREOPEN(name)                                                             \
	FILE *name(const char *path, const char *mode, FILE *file)                     \
	{                                                                              \
		struct meter meter = stream_begin_open(path, mode);                    \
                                                                                       \
		meter_closed(file->_fileno);                                           \
		return stream_opened(&meter, real.name(path, mode, file), path, mode); \
	}
WRAP_FREOPEN(freopen)
WRAP_FREOPEN(freopen64)

int fclose(FILE *file)
{
	stream_settle(file);
	meter_closed(file->_fileno);
	return real.fclose(file);
}

/* ---- reading ---- */

#define WRAP_FREAD(name, parameters, ...)                                              \
	size_t name parameters                                                         \
	{                                                                              \
		struct stream stream = stream_begin(file);                             \
		size_t done = real.name(__VA_ARGS__, size, count, file);               \
                                                                                       \
		stream_read(&stream, size *count, size *done);                         \
		return done;                                                           \
	}
WRAP_FREAD(fread, (void *to, size_t size, size_t count, FILE *file), to)
WRAP_FREAD(fread_unlocked, (void *to, size_t size, size_t count, FILE *file), to)
WRAP_FREAD(__fread_chk, (void *to, size_t room, size_t size, size_t count, FILE *file),
	   to, room)
WRAP_FREAD(__fread_unlocked_chk,
	   (void *to, size_t room, size_t size, size_t count, FILE *file), to, room)

#define WRAP_LINE(result, name, parameters, ...)                                       \
	result name parameters                                                         \
	{                                                                              \
		struct stream stream = stream_begin(file);                             \
		result done = real.name(__VA_ARGS__, file);                            \
                                                                                       \
		stream_read(&stream, 0, 0);                                            \
		return done;                                                           \
	}
WRAP_LINE(char *, fgets, (char *to, int size, FILE *file), to, size)
WRAP_LINE(char *, fgets_unlocked, (char *to, int size, FILE *file), to, size)
WRAP_LINE(char *, __fgets_chk, (char *to, size_t room, int size, FILE *file), to, room,
	  size)
WRAP_LINE(char *, __fgets_unlocked_chk, (char *to, size_t room, int size, FILE *file),
	  to, room, size)
WRAP_LINE(ssize_t, getline, (char **line, size_t *room, FILE *file), line, room)
WRAP_LINE(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *file), line,
	  room, end)
WRAP_LINE(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *file), line,
	  room, end)

/* ---- moving ---- */

#define WRAP_SEEK(name, type)                                                          \
	int name(FILE *file, type offset, int whence)                                  \
	{                                                                              \
		struct stream stream;                                                  \
		int done;                                                              \
                                                                                       \
		stream_settle(file);                                                   \
		stream = stream_begin(file);                                           \
		done = real.name(file, offset, whence);                                \
		stream_sought(&stream);                                                \
		return done;                                                           \
	}
WRAP_SEEK(fseek, long)
WRAP_SEEK(fseeko, off_t)
WRAP_SEEK(fseeko64, off64_t)

void rewind(FILE *file)
{
	struct stream stream;

	stream_settle(file);
	stream = stream_begin(file);
	real.rewind(file);
	stream_sought(&stream);
}
