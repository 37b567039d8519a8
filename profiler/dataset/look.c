/* look.c - reads the header of a file, or decodes all of it. */
#include "profiler/dataset/look.h"
#include "loader/base/error.h"
#include "loader/prep.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 32768 }; /* bytes that hold the header of almost every picture */

struct looker {
	struct prep *prep;
	struct prep_worker *worker;
	uint8_t *out; /* prepared, then ignored */
	uint8_t *whole;
	uint8_t head[HEAD];
};

/*
 * Crops of all of the area and of any shape: the only one that fits is the whole
 * picture, so that every row of it is decoded.
 */
static struct prep *open_prep(void)
{
	struct prep_config config = prep_defaults;

	config.type = PREP_U8;
	config.size = 8;
	config.flip = 0;
	config.scale[0] = config.scale[1] = 1;
	config.ratio[0] = 1e-5;
	config.ratio[1] = 1e5;
	return prep_open(&config, NULL);
}

struct looker *looker_new(void)
{
	struct looker *looker = calloc(1, sizeof(*looker));

	if (looker == NULL)
		return NULL;
	looker->prep = open_prep();
	if (looker->prep != NULL) {
		looker->worker = prep_worker_new(looker->prep);
		looker->out = malloc(prep_sample_bytes(looker->prep));
	}
	if (looker->worker == NULL || looker->out == NULL) {
		looker_free(looker);
		return NULL;
	}
	return looker;
}

void looker_free(struct looker *looker)
{
	if (looker == NULL)
		return;
	prep_worker_free(looker->worker);
	prep_close(looker->prep);
	free(looker->out);
	free(looker->whole);
	free(looker);
}

/* A sample that is looked at. */
struct object {
	int fd; /* -1: in memory */
	const uint8_t *memory;
	uint64_t offset, size; /* in the file */
};

static int read_at(const struct object *object, uint64_t from, uint8_t *to, size_t size)
{
	if (object->memory != NULL) {
		memcpy(to, object->memory + from, size);
		return 0;
	}
	while (size > 0) {
		ssize_t got =
			pread(object->fd, to, size, (off_t)(object->offset + from));

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

static int open_file(const struct source_place *place, struct object *object,
		     struct error *err)
{
	struct stat status;

	/* O_NONBLOCK: a pipe of that name must not make us wait */
	object->fd = openat(place->dir, place->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (object->fd < 0)
		return error_sys(err, errno, "cannot be opened");
	if (fstat(object->fd, &status) != 0)
		return error_sys(err, errno, "cannot be read");
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "is no regular file");
	object->offset = place->offset;
	object->size = place->part ? place->size : (uint64_t)status.st_size;
	return 0;
}

static int open_object(const struct source *source, uint32_t sample,
		       struct object *object, struct error *err)
{
	struct source_place place;
	char path[PATH_MAX];

	source_place(source, sample, path, &place);
	if (place.memory == NULL)
		return open_file(&place, object, err);
	*object = (struct object){.fd = -1, .memory = place.memory, .size = place.size};
	return 0;
}

static int look_read_whole(struct looker *looker, const struct object *object,
			   struct error *err)
{
	int result;

	free(looker->whole);
	looker->whole =
		object->size < SIZE_MAX ? malloc((size_t)object->size + 1) : NULL;
	if (looker->whole == NULL)
		return error_set(err, ENOMEM, "is too large to be read");
	result = read_at(object, 0, looker->whole, (size_t)object->size);
	return result == 0 ? 0 : error_sys(err, -result, "cannot be read");
}

static int look_read_header(struct looker *looker, const struct object *object,
			    struct jpeg_header *header, struct error *err)
{
	size_t head = object->size < HEAD ? (size_t)object->size : HEAD;
	int result = read_at(object, 0, looker->head, head);

	if (result != 0)
		return error_sys(err, -result, "cannot be read");
	result = jpeg_header_read(looker->head, head, header);
	if (result == -EAGAIN && head < object->size) {
		result = look_read_whole(looker, object, err);
		if (result != 0)
			return result;
		result = jpeg_header_read(looker->whole, (size_t)object->size, header);
	}
	if (result == -EAGAIN)
		return error_set(err, EBADMSG, "ends within its header");
	return result == 0 ? 0 : error_set(err, EBADMSG, "not a JPEG");
}

static bool has_end(const struct object *object)
{
	uint8_t end[2];

	return object->size >= 2 && read_at(object, object->size - 2, end, 2) == 0 &&
	       end[0] == 0xff && end[1] == 0xd9;
}

/* Files without an end marker may be whole all the same: decoding proves it. */
static int check_pixels(struct looker *looker, const struct object *object, bool full,
			struct error *err)
{
	int result;

	if (!full && has_end(object))
		return 0;
	result = look_read_whole(looker, object, err);
	if (result != 0)
		return result;
	return prep_run(looker->worker, looker->whole, (size_t)object->size, 0,
			looker->out, err);
}

int looker_run(struct looker *looker, const struct source *source, uint32_t sample,
	       bool full, struct look *look, struct error *err)
{
	struct jpeg_header header;
	struct object object = {.fd = -1};
	int result = open_object(source, sample, &object, err);

	if (result == 0) {
		look->size = object.size;
		result = look_read_header(looker, &object, &header, err);
	}
	if (result == 0) {
		look->header = header;
		result = check_pixels(looker, &object, full, err);
	}
	if (object.fd >= 0)
		close(object.fd);
	return result;
}
