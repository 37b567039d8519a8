#include "tests/lib/io_part.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/batch.h"
#include "profiler/io/dsa_io.h"
#include "profiler/io/meter.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <unistd.h>

static struct io_page *io_part;

struct io_page *io_part_page(void)
{
	return io_part;
}

void io_part_attach(const char *path)
{
	if (attach_self.first != attach_self.page)
		io_page_unmap(attach_self.first);
	io_page_unmap(attach_self.page);
	attach_self.page = attach_self.first = NULL;
	attach_child();
	batch_child();
	attach_begin(path, NULL, NULL);
}

int io_part_setup(void **state)
{
	int result = scratch_setup(state);

	io_part = io_page_create("page", IO_WHOLE, NULL);
	io_part_attach("page");
	return io_part != NULL ? result : -1;
}

int io_part_teardown(void **state)
{
	io_part_attach("");
	io_page_unmap(io_part);
	return scratch_teardown(state);
}

int io_part_fork(void)
{
	pid_t child = fork();

	if (child == 0) {
		attach_child();
		batch_child();
	} else {
		attach_forked();
	}
	return child;
}

int io_part_open(const char *path, int flags)
{
	struct meter meter = meter_begin_open();

	return meter_opened(&meter, open(path, flags | O_CLOEXEC, 0600), path, flags);
}

void io_part_close(int fd)
{
	meter_closed(fd);
	close(fd);
}

long io_part_read(int fd, size_t size)
{
	struct meter meter = meter_begin(fd);
	char bytes[1 << 16];

	assert_true(size <= sizeof(bytes));
	return meter_read(&meter, read(fd, bytes, size), METER_CURRENT);
}

long io_part_pread(int fd, size_t size, long at)
{
	struct meter meter = meter_begin(fd);
	char bytes[1 << 16];

	assert_true(size <= sizeof(bytes));
	return meter_read(&meter, pread(fd, bytes, size, at), at);
}

void io_part_batch(uint64_t key, const char *path)
{
	int fd;

	dsa_io_batch_begin(key);
	fd = io_part_open(path, O_RDONLY);
	assert_true(fd >= 0);
	io_part_read(fd, 1 << 16);
	io_part_close(fd);
	dsa_io_batch_end(1);
}

const struct io_batch *io_part_last(void)
{
	uint64_t count = io_part->batch_count;
	const struct io_batch *batch = &io_part->batches[(count - 1) % IO_BATCHES];

	assert_true(count > 0 && batch->number == count);
	return batch;
}
