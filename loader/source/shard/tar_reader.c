/* tar_reader.c - goes from header to header. */
#include "loader/source/shard/tar_reader.h"
#include "loader/base/error.h"
#include "loader/source/shard/tar_header.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int tar_reader_init(struct tar_reader *reader, const struct shard_object *object)
{
	*reader = (struct tar_reader){.long_name = malloc(PATH_MAX)};
	if (reader->long_name == NULL)
		return -ENOMEM;
	if (shard_window_init(&reader->window, object) == 0)
		return 0;
	free(reader->long_name);
	return -ENOMEM;
}

void tar_reader_fini(struct tar_reader *reader)
{
	shard_window_fini(&reader->window);
	free(reader->long_name);
}

static int tar_reader_at(uint64_t at, int code, const char *why, struct error *err)
{
	return error_set(err, code, "at byte %llu: %s", (unsigned long long)at, why);
}

static const unsigned char *tar_reader_get(struct tar_reader *reader, uint64_t at,
					   size_t size, struct error *err)
{
	int result = 0;
	const unsigned char *got = shard_window_get(&reader->window, at, size, &result);

	if (got == NULL && result == -ENODATA)
		tar_reader_at(at, ENODATA, "the archive is cut short there", err);
	else if (got == NULL)
		error_sys(err, -result, "cannot read at byte %llu",
			  (unsigned long long)at);
	return got;
}

/* Where the bytes after `size` at `from` end; they are known to be there. */
static uint64_t tar_reader_after(uint64_t from, uint64_t size)
{
	return from + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static int tar_reader_rename(struct tar_reader *reader, const char *name, size_t size,
			     uint64_t at, struct error *err)
{
	if (size >= PATH_MAX)
		return tar_reader_at(at, ENAMETOOLONG,
				     "a name is longer than 4095 bytes", err);
	memcpy(reader->long_name, name, size);
	reader->long_name[size] = '\0';
	if (strlen(reader->long_name) != size)
		return tar_reader_at(at, EBADMSG, "a name has a 0 byte in it", err);
	reader->named = true;
	return 0;
}

/* What a header says of the members that follow it; header->size bytes at `at`. */
static int tar_reader_about(struct tar_reader *reader, const struct tar_header *header,
			    uint64_t at, struct error *err)
{
	struct tar_pax pax = {0};
	const char *why = NULL;
	const unsigned char *bytes;
	int result;

	if (header->size > SHARD_MOST)
		return tar_reader_at(at, EFBIG,
				     "a header that describes a member is larger than "
				     "1 MiB",
				     err);
	bytes = tar_reader_get(reader, at, (size_t)header->size, err);
	if (bytes == NULL)
		return -EIO;
	if (header->kind == TAR_LONG_NAME)
		return tar_reader_rename(
			reader, (const char *)bytes,
			strnlen((const char *)bytes, (size_t)header->size), at, err);
	result = tar_pax_read((const char *)bytes, (size_t)header->size, &pax, &why);
	/* Of all that follow: a path or size would make them one. */
	if (result == 0 && header->kind == TAR_PAX_GLOBAL &&
	    (pax.path != NULL || pax.sized)) {
		why = "a pax header gives all members one name or size";
		result = -ENOTSUP;
	}
	if (result < 0)
		return tar_reader_at(at, -result, why, err);
	if (pax.sized) {
		reader->sized = true;
		reader->size = pax.size;
	}
	return pax.path != NULL
		       ? tar_reader_rename(reader, pax.path, pax.path_size, at, err)
		       : 0;
}

/* Before POSIX a folder was a file whose name ends so. */
static bool tar_reader_folder(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && name[length - 1] == '/';
}

/* Of a header at reader->at, whose bytes end where the next header is. */
static int tar_reader_member(struct tar_reader *reader, const struct tar_header *header,
			     struct tar_member *member, struct error *err)
{
	uint64_t whole = reader->window.object->size;

	*member = (struct tar_member){
		.name = reader->named ? reader->long_name : reader->name,
		.offset = reader->at + TAR_BLOCK,
		.size = header->size,
		.file = header->kind == TAR_FILE,
	};
	if (reader->sized && member->file)
		member->size = reader->size;
	memcpy(reader->name, header->name, sizeof(reader->name));
	member->file = member->file && !tar_reader_folder(member->name);
	reader->named = reader->sized = false;
	if (member->size > whole - member->offset)
		return tar_reader_at(
			reader->at, ENODATA,
			"a member ends behind the archive, which is cut short", err);
	reader->at = tar_reader_after(member->offset, member->size);
	return 1;
}

int tar_reader_next(struct tar_reader *reader, struct tar_member *member,
		    struct error *err)
{
	uint64_t whole = reader->window.object->size;

	while (reader->at < whole) {
		const unsigned char *block =
			tar_reader_get(reader, reader->at, TAR_BLOCK, err);
		struct tar_header header;
		const char *why = NULL;
		int result;

		if (block == NULL)
			return -EIO;
		result = tar_header_read(block, &header, &why);
		if (result < 0)
			return tar_reader_at(reader->at, -result, why, err);
		if (header.kind == TAR_END)
			return 0;
		if (header.kind == TAR_FILE || header.kind == TAR_OTHER)
			return tar_reader_member(reader, &header, member, err);
		if (header.size > whole - reader->at - TAR_BLOCK)
			return tar_reader_at(reader->at, ENODATA,
					     "the archive is cut short there", err);
		result = tar_reader_about(reader, &header, reader->at + TAR_BLOCK, err);
		if (result < 0)
			return result;
		reader->at = tar_reader_after(reader->at + TAR_BLOCK, header.size);
	}
	return 0;
}

const char *tar_reader_bytes(struct tar_reader *reader, const struct tar_member *member,
			     struct error *err)
{
	if (member->size > SHARD_MOST)
		return error_null(tar_reader_at(member->offset, EFBIG,
						"a label is larger than 1 MiB", err));
	return (const char *)tar_reader_get(reader, member->offset,
					    (size_t)member->size, err);
}
