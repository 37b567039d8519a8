/* record_archive.c - messages in messages, whose sizes are summed up from the inside. */
#include "profiler/dataset/archive/record_archive.h"
#include "loader/base/bytes/crc32c.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum { FEATURES = 4, HEAD = 12, TAIL = 4 };

/* Fields of Protocol Buffers: number << 3, and how the value is written. */
enum {
	FIELD_1 = 1 << 3 | 2,
	FIELD_2 = 2 << 3 | 2,
	INT64_LIST = 3 << 3 | 2,
	NUMBER = 1 << 3
};

struct record_feature {
	const char *name;
	const void *bytes; /* NULL: the number */
	size_t size;
	uint32_t number;
};

static size_t record_varint_size(uint64_t value)
{
	size_t size = 1;

	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

static uint8_t *record_put_varint(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

/* A field with a length: its tag, which is a byte, and how many bytes follow. */
static size_t record_field_size(size_t size)
{
	return 1 + record_varint_size(size) + size;
}

static uint8_t *record_put_field(uint8_t *to, uint8_t tag, size_t size)
{
	*to++ = tag;
	return record_put_varint(to, size);
}

static size_t record_list_size(const struct record_feature *feature)
{
	return feature->bytes != NULL ? record_field_size(feature->size)
				      : 1 + record_varint_size(feature->number);
}

/* What stands for a feature in the map of them. */
static size_t record_entry_size(const struct record_feature *feature)
{
	return record_field_size(strlen(feature->name)) +
	       record_field_size(record_field_size(record_list_size(feature)));
}

static uint8_t *record_put_entry(uint8_t *to, const struct record_feature *feature)
{
	size_t list = record_list_size(feature), name = strlen(feature->name);

	to = record_put_field(to, FIELD_1, record_entry_size(feature));
	to = record_put_field(to, FIELD_1, name);
	memcpy(to, feature->name, name);
	to = record_put_field(to + name, FIELD_2, record_field_size(list));
	to = record_put_field(to, feature->bytes != NULL ? FIELD_1 : INT64_LIST, list);
	if (feature->bytes == NULL) {
		*to++ = NUMBER;
		return record_put_varint(to, feature->number);
	}
	to = record_put_field(to, FIELD_1, feature->size);
	memcpy(to, feature->bytes, feature->size);
	return to + feature->size;
}

static void record_put_checksum(uint8_t *to, const uint8_t *bytes, size_t size)
{
	uint32_t sum = htole32(crc32c_masked(crc32c(0, bytes, size)));

	memcpy(to, &sum, sizeof(sum));
}

int record_archive_add(struct archive *archive, const struct shard_sample *sample)
{
	bool picture = strcmp(sample->ending, "jpg") == 0;
	const char *format = picture ? "jpeg" : sample->ending;
	const struct record_feature features[FEATURES] = {
		{.name = picture ? "image/class/label" : "label",
		 .number = sample->label},
		{.name = picture ? "image/class/text" : "class",
		 .bytes = sample->class,
		 .size = strlen(sample->class)},
		{.name = picture ? "image/encoded" : "audio/encoded",
		 .bytes = sample->bytes,
		 .size = sample->size},
		{.name = picture ? "image/format" : "audio/format",
		 .bytes = format,
		 .size = strlen(format)},
	};
	size_t map = 0, whole;
	uint64_t length;
	uint8_t *record, *to;

	for (int i = 0; i < FEATURES; i++)
		map += record_field_size(record_entry_size(&features[i]));
	whole = record_field_size(map);
	record = archive_more(archive, HEAD + whole + TAIL);
	if (record == NULL)
		return -ENOMEM;
	length = htole64(whole);
	memcpy(record, &length, sizeof(length));
	record_put_checksum(record + sizeof(length), record, sizeof(length));
	to = record_put_field(record + HEAD, FIELD_1, map);
	for (int i = 0; i < FEATURES; i++)
		to = record_put_entry(to, &features[i]);
	record_put_checksum(to, record + HEAD, whole);
	return 0;
}
