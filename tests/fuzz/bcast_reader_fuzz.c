/*
 * bcast_reader_fuzz.c - a ring's memory and a reader's page that a hostile writer made,
 * and goes on writing to while a job reads them.
 *
 * The input: the pages of memory, the number that the reader begins at, flags; then
 * patches of the memory (and of the page, which follows it): 2 bytes of offset, one of
 * length, the bytes. The reader attaches at the first patch of no length, and takes a
 * batch at each one after it.
 */
#include "loader/base/ipc/shared_memory.h"
#include "loader/share/client/sample_set.h"
#include "loader/share/ring/bcast_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PAGES = 16, TAKES = 40, COUNT = 5, HELD = 3, SAMPLES = 20 };
enum { AUDIT = 1, PARTIAL = 2, RESUMES = 4 };

struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct shared_memory fuzz_memory(size_t pages, bool read_only)
{
	const struct shared_memory_config config = {
		.name = "fuzz",
		.bytes = pages * shared_page(),
		.huge_from = pages * shared_page(),
		.read_only = read_only,
	};
	struct shared_memory memory;

	if (shared_memory_make(&memory, &config) < 0)
		abort();
	return memory;
}

/* Applies patches up to one of no length, whose offset it returns; -1: there is none. */
static int fuzz_patch(const struct shared_memory *ring,
		      const struct shared_memory *page, struct fuzz_input *input)
{
	while (input->size >= 3) {
		size_t said = input->data[0] | (size_t)input->data[1] << 8;
		size_t offset = said % (ring->bytes + page->bytes);
		size_t length = input->data[2];
		const struct shared_memory *to = offset < ring->bytes ? ring : page;

		input->data += 3;
		input->size -= 3;
		if (length == 0)
			return (int)said;
		if (to == page)
			offset -= ring->bytes;
		if (length > input->size)
			length = input->size;
		memcpy((char *)to->start + offset, input->data,
		       length < to->bytes - offset ? length : to->bytes - offset);
		input->data += length;
		input->size -= length;
	}
	return -1;
}

static bool fuzz_had(const void *context, uint32_t sample)
{
	return sample_set_has(context, sample);
}

/* Looks at every byte of a batch. */
static void fuzz_look(const struct bcast_reader *reader,
		      const struct bcast_batch *batch)
{
	size_t bytes = batch->count * bcast_sample_bytes(reader);
	unsigned char *copy = malloc(bytes);

	if (batch->count > COUNT || batch->end < batch->first)
		abort();
	if (copy != NULL && batch->count > 0)
		bcast_copy(reader, batch, copy);
	if (copy != NULL && batch->data != NULL)
		memcpy(copy, batch->data, bytes);
	free(copy);
}

static void fuzz_take(struct bcast_reader *reader, unsigned how, struct sample_set *had,
		      struct bcast_batch *held)
{
	struct bcast_batch *batch = &held[how % HELD];
	uint32_t labels[COUNT], samples[COUNT], count = 1 + how / HELD % COUNT;

	bcast_release(reader, batch);
	if (bcast_take(reader, count, 0, batch, labels, samples, NULL) != 1)
		return;
	fuzz_look(reader, batch);
	sample_set_add(had, samples, batch->count);
	bcast_blocks(reader);
	bcast_ahead(reader);
}

static void fuzz_read(const struct shared_memory *ring,
		      const struct shared_memory *page,
		      const struct bcast_reader_config *config,
		      struct fuzz_input *input, struct sample_set *had)
{
	struct bcast_batch held[HELD] = {0};
	struct bcast_reader *reader;
	int how = fuzz_patch(ring, page, input);

	reader = bcast_reader_open(config, NULL);
	for (int i = 0; reader != NULL && how >= 0 && i < TAKES; i++) {
		how = fuzz_patch(ring, page, input);
		if (how >= 0)
			fuzz_take(reader, (unsigned)how, had, held);
	}
	bcast_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input;
	struct shared_memory ring, page;
	struct sample_set had;

	if (size < 3 || sample_set_init(&had, SAMPLES) < 0)
		return 0;
	input = (struct fuzz_input){data + 3, size - 3};
	ring = fuzz_memory(data[0] % PAGES + 1, true);
	page = fuzz_memory(1, false);
	fuzz_read(&ring, &page,
		  &(struct bcast_reader_config){
			  .memory = dup(ring.fd),
			  .page = dup(page.fd),
			  .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			  .start = data[1],
			  .epoch_places = 5,
			  .remaining = 4,
			  .audit = (data[2] & AUDIT) != 0,
			  .partial = (data[2] & PARTIAL) != 0,
			  .had = (data[2] & RESUMES) != 0 ? fuzz_had : NULL,
			  .context = &had,
		  },
		  &input, &had);
	shared_memory_free(&ring);
	shared_memory_free(&page);
	sample_set_fini(&had);
	return 0;
}
