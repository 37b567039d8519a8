/* bcast_attach.c - how a job comes to read a ring and leaves it. It trusts no number
 * that others may write: the worst that they can do is a wrong sample, or none. */
#include "loader/base/error.h"
#include "loader/share/ring/bcast_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static int bcast_attach_map_page(struct bcast_reader *reader, int fd, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;
	void *mapped;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) < 0 ||
	    status.st_size < (off_t)sizeof(struct bcast_reader_page))
		return error_set(err, EBADMSG, "this is no page for a reader");
	mapped = mmap(NULL, sizeof(struct bcast_reader_page), PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_sys(err, errno, "cannot map the reader's page");
	reader->page = mapped;
	reader->token = reader->page->token;
	return 0;
}

/* The samples twice in a row; every page at once, not one fault after the other. */
static int bcast_attach_map_samples(struct bcast_reader *reader, int fd,
				    struct error *err)
{
	size_t area = reader->layout.bytes - reader->layout.samples;
	char *room = shared_memory_room(2 * area);

	if (room == MAP_FAILED)
		return error_sys(err, errno, "cannot map the shared ring");
	reader->samples = room;
	for (int i = 0; i < 2; i++)
		if (mmap(room + (size_t)i * area, area, PROT_READ,
			 MAP_SHARED | MAP_FIXED, fd,
			 (off_t)reader->layout.samples) == MAP_FAILED)
			return error_sys(err, errno, "cannot map the shared ring");
	shared_memory_own(room, 2 * area);
	/* Linux 5.14; else on use */
	madvise(room, 2 * area, MADV_POPULATE_READ);
	madvise((void *)(uintptr_t)reader->header, reader->layout.samples,
		MADV_POPULATE_READ);
	return 0;
}

static int bcast_attach_make_notes(struct bcast_reader *reader, struct error *err)
{
	uint32_t places = reader->layout.places;

	reader->notes = calloc(places, sizeof(*reader->notes));
	if (reader->audit)
		reader->checksums = calloc(places, sizeof(*reader->checksums));
	if (reader->notes == NULL || (reader->audit && reader->checksums == NULL))
		return error_sys(err, ENOMEM, "cannot read the shared ring");
	return 0;
}

static int bcast_attach_check_config(const struct bcast_reader_config *config,
				     struct error *err)
{
	struct stat status;

	if (config->slot >= BCAST_READERS || config->epoch_places == 0 ||
	    config->remaining == 0)
		return error_set(err, EBADMSG,
				 "slot %u with %llu of %llu samples to go is none",
				 config->slot, (unsigned long long)config->remaining,
				 (unsigned long long)config->epoch_places);
	/* what else could be written to might kill with SIGPIPE */
	if (fstat(config->event, &status) < 0 || S_ISFIFO(status.st_mode) ||
	    S_ISSOCK(status.st_mode))
		return error_set(err, EBADMSG, "the reader's eventfd is none");
	return 0;
}

static int bcast_attach_begin(struct bcast_reader *reader,
			      const struct bcast_reader_config *config,
			      struct error *err)
{
	int result = bcast_attach_check_config(config, err);

	if (result == 0)
		result = bcast_look(config->memory, &reader->layout, &reader->header,
				    err);
	if (result == 0 && config->audit && !reader->layout.audit)
		result = error_set(err, EINVAL,
				   "the shared loader keeps no checksums (dsa serve "
				   "--audit)");
	if (result == 0)
		result = bcast_attach_map_page(reader, config->page, err);
	if (result == 0)
		result = bcast_attach_map_samples(reader, config->memory, err);
	if (result == 0)
		result = bcast_attach_make_notes(reader, err);
	return result;
}

struct bcast_reader *bcast_reader_open(const struct bcast_reader_config *config,
				       struct error *err)
{
	struct bcast_reader *reader = calloc(1, sizeof(*reader));
	int result;

	if (reader == NULL) {
		result = error_sys(err, ENOMEM, "cannot read the shared ring");
		close(config->event);
	} else {
		reader->event = config->event;
		reader->slot = config->slot;
		reader->audit = config->audit;
		reader->partial = config->partial;
		reader->had = config->had;
		reader->context = config->context;
		reader->epoch_places = config->epoch_places;
		reader->remaining = config->remaining;
		reader->next = reader->released = config->start;
		result = bcast_attach_begin(reader, config, err);
	}
	close(config->memory);
	close(config->page);
	if (result < 0) {
		bcast_reader_close(reader);
		return NULL;
	}
	reader->places = (const struct bcast_place *)((const char *)reader->header +
						      reader->layout.descriptors);
	return reader;
}

uint64_t bcast_ready(const struct bcast_reader *reader)
{
	uint64_t published = atomic_load(&reader->header->published);
	uint64_t copied =
		reader->mirrored ? atomic_load(&reader->header->copied) : published;

	return copied < published ? copied : published;
}

void bcast_use_mirror(struct bcast_reader *reader)
{
	reader->mirrored = true;
}

bool bcast_blocks(const struct bcast_reader *reader)
{
	const struct bcast_header *header = reader->header;

	return atomic_load(&header->hungry) > reader->released &&
	       bcast_ready(reader) >= atomic_load(&header->reserved);
}

bool bcast_stopped(const struct bcast_reader *reader)
{
	return atomic_load(&reader->header->ended) == BCAST_STOPPED;
}

size_t bcast_sample_bytes(const struct bcast_reader *reader)
{
	return reader->layout.sample_bytes;
}

const void *bcast_samples(const struct bcast_reader *reader, size_t *bytes)
{
	*bytes = 2 * (reader->layout.bytes - reader->layout.samples);
	return reader->samples;
}

void bcast_say_device(struct bcast_reader *reader, enum bcast_device how)
{
	atomic_store_explicit(&reader->page->device, how, memory_order_relaxed);
}

uint64_t bcast_ahead(const struct bcast_reader *reader)
{
	uint64_t published = bcast_ready(reader);

	return published > reader->next ? published - reader->next : 0;
}

uint64_t bcast_bad(const struct bcast_reader *reader)
{
	return reader->bad;
}

static void bcast_attach_unmap(const struct bcast_reader *reader)
{
	size_t area = reader->layout.bytes - reader->layout.samples;

	if (reader->samples != NULL)
		munmap((void *)(uintptr_t)reader->samples, 2 * area);
	if (reader->header != NULL)
		bcast_unlook(reader->header, &reader->layout);
	if (reader->page != NULL)
		munmap(reader->page, sizeof(*reader->page));
}

void bcast_reader_close(struct bcast_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->header != NULL && reader->page != NULL)
		bcast_report(reader, UINT64_MAX);
	bcast_attach_unmap(reader);
	close(reader->event);
	free(reader->notes);
	free(reader->checksums);
	free(reader);
}
