/*
 * tfrecord_fuzz.c - a TFRecord file and a tf.train.Example may hold anything: what is
 * found lies within them, or one line says what is wrong.
 *
 * The first byte is how much is read at once; with its highest bit the rest is walked as
 * an Example. Else checksums of lengths are made good, or nothing but them would ever be
 * tested.
 */
#include "loader/base/bytes/crc32c.h"
#include "loader/base/error.h"
#include "loader/source/shard/example.h"
#include "loader/source/shard/record_reader.h"
#include "tests/lib/memory_object.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_good(const struct memory_object *memory)
{
	size_t at = 0;

	while (memory->size - at >= RECORD_HEAD) {
		uint32_t sum = crc32c_masked(crc32c(0, memory->bytes + at, 8));
		uint64_t length;

		memcpy(memory->bytes + at + 8, &sum, sizeof(sum));
		memcpy(&length, memory->bytes + at, sizeof(length));
		at += RECORD_HEAD;
		if (length > memory->size - at ||
		    memory->size - at - length < RECORD_TAIL)
			break;
		at += (size_t)length + RECORD_TAIL;
	}
}

static void read_records(const struct memory_object *memory,
			 const struct shard_object *object)
{
	struct record_reader reader;
	struct error err = {0};
	uint64_t at, size;
	int result;

	if (record_reader_init(&reader, object) < 0)
		return;
	while ((result = record_reader_next(&reader, &at, &size, &err)) > 0) {
		if (at > memory->size || size > memory->size - at ||
		    memory->size - at - size < RECORD_TAIL)
			abort();
		record_matches(memory->bytes + at, (size_t)size);
	}
	if (result < 0 && (err.code == 0 || err.message[0] == '\0' ||
			   strchr(err.message, '\n') != NULL))
		abort();
	record_reader_fini(&reader);
}

static void walk(const struct memory_object *memory)
{
	const unsigned char *begin = memory->bytes;
	struct example_bytes bytes;
	struct example_feature feature;
	struct example example;

	example_bytes_of(&bytes, &begin);
	example_begin(&example, &bytes, 0, memory->size);
	while (example_next(&example, &feature) > 0)
		if (strlen(feature.name) >= EXAMPLE_NAME || feature.at > memory->size ||
		    feature.size > memory->size - feature.at)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_object memory = {
		.size = size > 0 ? size - 1 : 0,
		.most = size > 0 ? 1 + 64u * (data[0] & 0x7f) : 1,
	};
	struct shard_object object = {
		.state = &memory, .size = memory.size, .read = memory_object_read};

	memory.bytes = malloc(memory.size + 1);
	if (memory.bytes == NULL)
		return 0;
	if (size > 1)
		memcpy(memory.bytes, data + 1, memory.size);
	if (size > 0 && data[0] >= 0x80) {
		walk(&memory);
	} else {
		make_good(&memory);
		read_records(&memory, &object);
	}
	free(memory.bytes);
	return 0;
}
