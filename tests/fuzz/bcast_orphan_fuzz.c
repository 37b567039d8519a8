/*
 * What a dead or hostile writer left in a ring's memory: a loader that takes over and a
 * reader look into it unharmed.
 *
 * Input: a byte with the pages of memory, one with the number that the reader begins at,
 * 1024 bytes of header, then what lies from the second page on.
 */
#include "loader/share/ring/bcast_ring.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, HEADER = 1024, TAKES = 40, COUNT = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int sealed(size_t bytes, int seals)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) < 0)
		abort();
	return fd;
}

static int memory_of(const uint8_t *data, size_t size)
{
	size_t bytes = (size_t)(data[0] % 16 + 1) * PAGE;
	size_t head = size - 2 < HEADER ? size - 2 : HEADER, rest = size - 2 - head;
	int fd = sealed(bytes, F_SEAL_SHRINK | F_SEAL_GROW);

	if (rest > bytes - PAGE)
		rest = bytes - PAGE;
	if (pwrite(fd, data + 2, head, 0) < 0 ||
	    pwrite(fd, data + 2 + head, rest, PAGE) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0)
		abort();
	return fd;
}

static void read_on(struct bcast_reader *reader)
{
	void *copy = malloc(COUNT * bcast_sample_bytes(reader));
	uint32_t labels[COUNT], samples[COUNT];
	volatile unsigned char byte;

	for (int i = 0; i < TAKES && copy != NULL; i++) {
		struct bcast_batch batch;

		if (bcast_take(reader, COUNT, 0, &batch, labels, samples, NULL) != 1)
			break;
		bcast_copy(reader, &batch, copy);
		if (batch.data != NULL && batch.count > 0)
			byte = ((const unsigned char *)batch.data)
				[batch.count * bcast_sample_bytes(reader) - 1];
		if (i % 2 == 0)
			bcast_release(reader, &batch);
	}
	(void)byte;
	free(copy);
}

static void read_feed(int memory, uint64_t start, bool audit)
{
	const struct bcast_reader_config config = {
		.memory = dup(memory),
		.page = sealed(PAGE, F_SEAL_SHRINK),
		.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.start = start,
		.epoch_places = 5,
		.remaining = 5,
		.audit = audit,
	};
	struct bcast_reader *reader = bcast_reader_open(&config, NULL);

	if (reader == NULL)
		return;
	read_on(reader);
	bcast_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bcast_orphan orphan;
	int memory;

	if (size < 2)
		return 0;
	memory = memory_of(data, size);
	if (bcast_orphan_open(memory, &orphan, NULL) == 0)
		bcast_orphan_close(&orphan);
	read_feed(memory, data[1], false);
	read_feed(memory, data[1], true);
	close(memory);
	return 0;
}
