/*
 * wrap_copy.c - stands before what copies from a descriptor within the kernel, and what
 * reads later, which is not counted.
 */
#include "profiler/io/batch.h"
#include "profiler/io/meter.h"
#include "profiler/io/wrap/real.h"

/* ssize_t name(parameters): `count` bytes of `from`, at *offset. */
#define WRAP_COPY(name, from, offset, parameters, ...)                                 \
	ssize_t name parameters                                                        \
	{                                                                              \
		struct meter meter = meter_begin(from);                                \
		int64_t at = (offset) != NULL ? *(offset) : METER_CURRENT;             \
                                                                                       \
		return meter_read(&meter, real.name(__VA_ARGS__), at);                 \
	}

WRAP_COPY(sendfile, from, offset, (int to, int from, off_t *offset, size_t count), to,
	  from, offset, count)
WRAP_COPY(sendfile64, from, offset, (int to, int from, off64_t *offset, size_t count),
	  to, from, offset, count)
WRAP_COPY(copy_file_range, from, offset,
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,
	   unsigned flags),
	  from, offset, to, to_offset, count, flags)
WRAP_COPY(splice, from, offset,
	  (int from, off64_t *offset, int to, off64_t *to_offset, size_t count,
	   unsigned flags),
	  from, offset, to, to_offset, count, flags)

static void wrap_copy_later(void)
{
	if (attach_self.batch != 0)
		batch_flag(IO_CALLS);
}

#define WRAP_LATER(name, parameters, ...)                                              \
	int name parameters                                                            \
	{                                                                              \
		wrap_copy_later();                                                     \
		return real.name(__VA_ARGS__);                                         \
	}
WRAP_LATER(aio_read, (struct aiocb * request), request)
WRAP_LATER(aio_read64, (struct aiocb64 * request), request)
WRAP_LATER(lio_listio,
	   (int mode, struct aiocb *const list[], int count, struct sigevent *event),
	   mode, list, count, event)
WRAP_LATER(lio_listio64,
	   (int mode, struct aiocb64 *const list[], int count, struct sigevent *event),
	   mode, list, count, event)
