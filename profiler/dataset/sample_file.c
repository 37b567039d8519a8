/* sample_file.c - opens where a sample lies, and reads it with pread. */
#include "profiler/dataset/sample_file.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char too_large[] = "is larger than 1 GiB, which the loader refuses";

static int sample_file_open_path(const struct source_place *place,
				 struct sample_file *file, struct error *err)
{
	struct stat status;

	/* O_NONBLOCK: a pipe of that name must not make us wait */
	file->fd = openat(place->dir, place->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return error_sys(err, errno, "cannot be opened");
	if (fstat(file->fd, &status) != 0)
		return error_sys(err, errno, "cannot be read");
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "is no regular file");
	file->offset = place->offset;
	file->size = place->part ? place->size : (uint64_t)status.st_size;
	if (file->size > LIMIT_SAMPLE)
		return error_set(err, EFBIG, "%s", too_large);
	return 0;
}

/* Connections are kept for the samples that follow. */
static int sample_file_ask(const struct source_place *place, struct sample_bytes *room,
			   struct sample_file *file, struct error *err)
{
	const struct net_config config = {.most = 1, .seed = clock_now()};
	struct net_get get = {
		.remote = place->remote,
		.path = place->object,
		.etag = place->etag,
		.room = place->size,
		.from = place->offset,
		.part = place->part,
		.exact = true,
		.deadline = net_remote_deadline(place->remote),
		.stop = room->stop,
	};
	int result;

	if (place->size > LIMIT_SAMPLE)
		return error_set(err, EFBIG, "%s", too_large);
	if (room->net == NULL)
		room->net = net_open(&config, err);
	if (room->net == NULL)
		return -ENOENT;
	free(room->object);
	room->object = malloc((size_t)place->size + 1);
	if (room->object == NULL)
		return error_set(err, ENOMEM, "is too large for the memory there is");
	get.body = room->object;
	result = net_call(room->net, &get, err);
	file->memory = room->object;
	file->size = get.got;
	return result;
}

void sample_bytes_fini(struct sample_bytes *bytes)
{
	free(bytes->bytes);
	free(bytes->object);
	net_close(bytes->net);
}

/* Finds the sample in what its place holds, all of which is read. */
static int sample_file_unseal(const struct source *source, uint32_t sample,
			      struct sample_bytes *room, struct sample_file *file,
			      struct error *err)
{
	struct source_part part = {.size = (size_t)file->size};
	const char *why = NULL;
	int result = 0;

	if (file->memory == NULL) {
		free(room->object);
		room->object = malloc(part.size + 1);
		if (room->object == NULL)
			return error_set(err, ENOMEM,
					 "is too large for the memory there is");
		result = sample_file_read(file, 0, room->object, part.size);
		file->memory = room->object;
	}
	if (result < 0)
		return error_sys(err, -result, "cannot be read");
	result = source_unseal(source, sample, file->memory, &part, &why);
	if (result < 0)
		return error_set(err, -result, "%s", why);
	file->memory += part.skip;
	file->size = part.size;
	return 0;
}

static int sample_file_open_place(const struct source_place *place,
				  struct sample_bytes *room, struct sample_file *file,
				  struct error *err)
{
	*file = (struct sample_file){.fd = -1};
	if (place->object != NULL)
		return sample_file_ask(place, room, file, err);
	if (place->memory == NULL)
		return sample_file_open_path(place, file, err);
	file->memory = place->memory;
	file->size = place->size;
	return 0;
}

int sample_file_open(const struct source *source, uint32_t sample,
		     struct sample_bytes *room, struct sample_file *file,
		     struct error *err)
{
	struct source_place place;
	char path[PATH_MAX];
	int result;

	source_place(source, sample, path, &place);
	result = sample_file_open_place(&place, room, file, err);
	if (result < 0 || !source_sealed(source))
		return result;
	return sample_file_unseal(source, sample, room, file, err);
}

void sample_file_close(struct sample_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
}

int sample_file_read(const struct sample_file *file, uint64_t from, uint8_t *to,
		     size_t size)
{
	if (file->memory != NULL) {
		memcpy(to, file->memory + from, size);
		return 0;
	}
	while (size > 0) {
		ssize_t got = pread(file->fd, to, size, (off_t)(file->offset + from));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO; /* it shrinks meanwhile */
		to += got;
		from += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int sample_file_load(const struct sample_file *file, struct sample_bytes *into,
		     struct error *err)
{
	int result;

	if (file->size >= into->room) {
		free(into->bytes);
		into->room = (size_t)file->size + 1;
		into->bytes = malloc(into->room);
	}
	if (into->bytes == NULL) {
		into->room = 0;
		return error_set(err, ENOMEM, "is too large for the memory there is");
	}
	into->size = (size_t)file->size;
	result = sample_file_read(file, 0, into->bytes, into->size);
	return result == 0 ? 0 : error_sys(err, -result, "cannot be read");
}

int sample_load(const struct source *source, uint32_t sample, struct sample_bytes *into,
		struct error *err)
{
	struct sample_file file;
	int result = sample_file_open(source, sample, into, &file, err);

	if (result == 0)
		result = sample_file_load(&file, into, err);
	sample_file_close(&file);
	return result;
}

bool sample_file_is_lost(const struct source *source, uint32_t sample,
			 struct error *err)
{
	char name[NAME_SHOWN];

	if (err->code != EKEYREJECTED && err->code != ETIMEDOUT &&
	    err->code != EHOSTDOWN)
		return false;
	error_within(err, -err->code, "%s",
		     source_name(source, sample, name, sizeof(name)));
	return true;
}

int sample_load_place(const struct source_place *place, struct sample_bytes *into,
		      struct error *err)
{
	struct sample_file file;
	int result = sample_file_open_place(place, into, &file, err);

	if (result == 0)
		result = sample_file_load(&file, into, err);
	sample_file_close(&file);
	return result;
}
