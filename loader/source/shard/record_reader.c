/* record_reader.c - goes from head to head. */
#include "loader/source/shard/record_reader.h"
#include "loader/base/bytes/crc32c.h"
#include "loader/base/error.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

int record_reader_init(struct record_reader *reader, const struct shard_object *object)
{
	reader->at = 0;
	return shard_window_init(&reader->window, object);
}

void record_reader_fini(struct record_reader *reader)
{
	shard_window_fini(&reader->window);
}

static uint32_t record_number(const unsigned char *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return le32toh(number);
}

bool record_matches(const unsigned char *bytes, size_t size)
{
	return crc32c_masked(crc32c(0, bytes, size)) == record_number(bytes + size);
}

static int record_reader_at(const struct record_reader *reader, int code,
			    const char *why, struct error *err)
{
	return error_set(err, code, "at byte %llu: %s", (unsigned long long)reader->at,
			 why);
}

int record_reader_next(struct record_reader *reader, uint64_t *at, uint64_t *size,
		       struct error *err)
{
	uint64_t whole = reader->window.object->size;
	uint64_t length;
	const unsigned char *head;
	int result = 0;

	if (reader->at == whole)
		return 0;
	head = shard_window_get(&reader->window, reader->at, RECORD_HEAD, &result);
	if (head == NULL && result == -ENODATA)
		return record_reader_at(reader, ENODATA, "the file is cut short there",
					err);
	if (head == NULL)
		return error_sys(err, -result, "cannot read at byte %llu",
				 (unsigned long long)reader->at);
	if (!record_matches(head, sizeof(length)))
		return record_reader_at(
			reader, EBADMSG,
			"no record begins there, or the checksum of its "
			"length is wrong",
			err);
	memcpy(&length, head, sizeof(length));
	*at = reader->at + RECORD_HEAD;
	*size = le64toh(length);
	if (*size > whole - *at || whole - *at - *size < RECORD_TAIL)
		return record_reader_at(
			reader, ENODATA,
			"a record ends behind the file, which is cut short", err);
	reader->at = *at + *size + RECORD_TAIL;
	return 1;
}
