/* example.c - from tag to tag, down to a feature's first value. */
#include "loader/source/shard/example.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* How a value is written: the low bits of its tag. */
enum { VARINT = 0, EIGHT = 1, LENGTH = 2, FOUR = 5, TAG_BITS = 3, VARINT_MOST = 10 };

#define TAG(number, written) ((number) << TAG_BITS | (written))

struct example_field {
	uint64_t tag;
	uint64_t value;           /* VARINT */
	struct example_span span; /* LENGTH */
};

static const unsigned char *example_memory_get(void *context, uint64_t at, size_t size)
{
	const unsigned char *const *memory = context;

	(void)size;
	return *memory + at;
}

void example_bytes_of(struct example_bytes *bytes, const unsigned char **memory)
{
	*bytes = (struct example_bytes){memory, example_memory_get};
}

static int example_varint(const struct example_bytes *bytes, struct example_span *span,
			  uint64_t *value)
{
	uint64_t left = span->end - span->at;
	size_t most = left < VARINT_MOST ? (size_t)left : VARINT_MOST;
	const unsigned char *got = bytes->get(bytes->context, span->at, most);

	if (got == NULL)
		return -EIO;
	*value = 0;
	for (size_t i = 0; i < most; i++) {
		*value |= (uint64_t)(got[i] & 0x7f) << 7 * i;
		if (got[i] < 0x80) {
			span->at += i + 1;
			return 0;
		}
	}
	return -EBADMSG;
}

/* Takes the next field of a message: 1; 0 at its end; -EBADMSG; -EIO. */
static int example_field(const struct example_bytes *bytes, struct example_span *span,
			 struct example_field *field)
{
	uint64_t length = 0;
	int result;

	if (span->at == span->end)
		return 0;
	result = example_varint(bytes, span, &field->tag);
	if (result < 0)
		return result;
	switch (field->tag & (TAG(1, 0) - 1)) {
	case VARINT:
		result = example_varint(bytes, span, &field->value);
		return result < 0 ? result : 1;
	case EIGHT:
		length = 8;
		break;
	case FOUR:
		length = 4;
		break;
	case LENGTH:
		result = example_varint(bytes, span, &length);
		break;
	default:
		return -EBADMSG;
	}
	if (result < 0 || length > span->end - span->at)
		return result < 0 ? result : -EBADMSG;
	field->span = (struct example_span){span->at, span->at + length};
	span->at += length;
	return 1;
}

/* The first number of an Int64List, whose numbers stand in one field, or one in each. */
static int example_int64(const struct example_bytes *bytes,
			 const struct example_field *list,
			 struct example_feature *feature)
{
	struct example_span span = list->span;
	uint64_t value = list->value;
	int result = 0;

	if (list->tag == TAG(1, LENGTH) && span.at == span.end)
		return 0;
	if (list->tag == TAG(1, LENGTH))
		result = example_varint(bytes, &span, &value);
	memcpy(&feature->number, &value, sizeof(value));
	feature->kind = EXAMPLE_INT64;
	return result;
}

/* Of a list of values, the first one. */
static int example_list(const struct example_bytes *bytes, struct example_span list,
			enum example_kind kind, struct example_feature *feature)
{
	struct example_field field;
	int result = 0;

	feature->kind = EXAMPLE_NONE;
	while (feature->kind == EXAMPLE_NONE &&
	       (result = example_field(bytes, &list, &field)) > 0) {
		bool whole = field.tag == TAG(1, LENGTH);

		if (kind == EXAMPLE_BYTES && whole) {
			feature->kind = EXAMPLE_BYTES;
			feature->at = field.span.at;
			feature->size = field.span.end - field.span.at;
		} else if (kind == EXAMPLE_INT64 &&
			   (whole || field.tag == TAG(1, VARINT))) {
			result = example_int64(bytes, &field, feature);
		} else if (kind == EXAMPLE_FLOAT) {
			feature->kind = EXAMPLE_FLOAT;
		}
		if (result < 0)
			return result;
	}
	return result < 0 ? result : 0;
}

static int example_value(const struct example_bytes *bytes, struct example_span span,
			 struct example_feature *feature)
{
	struct example_field field;
	int result;

	while ((result = example_field(bytes, &span, &field)) > 0) {
		uint64_t kind = field.tag >> TAG_BITS;

		if (kind < EXAMPLE_BYTES || kind > EXAMPLE_INT64 ||
		    field.tag != TAG(kind, LENGTH))
			continue;
		result = example_list(bytes, field.span, (enum example_kind)kind,
				      feature);
		if (result < 0)
			return result;
	}
	return result;
}

static int example_name(const struct example_bytes *bytes, struct example_span span,
			struct example_feature *feature)
{
	uint64_t size = span.end - span.at;
	const unsigned char *name;

	if (size >= EXAMPLE_NAME)
		return -EBADMSG;
	name = bytes->get(bytes->context, span.at, (size_t)size);
	if (name == NULL)
		return -EIO;
	memcpy(feature->name, name, (size_t)size);
	feature->name[size] = '\0';
	return 0;
}

/* A name and what has it, in either order. */
static int example_entry(const struct example_bytes *bytes, struct example_span span,
			 struct example_feature *feature)
{
	struct example_field field;
	int result;

	feature->kind = EXAMPLE_NONE; /* without zeros in all of the name */
	feature->name[0] = '\0';
	feature->at = feature->size = 0;
	feature->number = 0;
	while ((result = example_field(bytes, &span, &field)) > 0) {
		if (field.tag == TAG(1, LENGTH))
			result = example_name(bytes, field.span, feature);
		else if (field.tag == TAG(2, LENGTH))
			result = example_value(bytes, field.span, feature);
		if (result < 0)
			return result;
	}
	return result;
}

void example_begin(struct example *example, const struct example_bytes *bytes,
		   uint64_t from, uint64_t size)
{
	*example = (struct example){
		.bytes = bytes, .outer = {from, from + size}, .inner = {from, from}};
}

int example_next(struct example *example, struct example_feature *feature)
{
	for (;;) {
		bool inside = example->inner.at < example->inner.end;
		struct example_field field;
		int result = example_field(example->bytes,
					   inside ? &example->inner : &example->outer,
					   &field);

		if (result <= 0)
			return result;
		if (field.tag != TAG(1, LENGTH))
			continue;
		if (!inside) {
			example->inner = field.span;
			continue;
		}
		result = example_entry(example->bytes, field.span, feature);
		return result < 0 ? result : 1;
	}
}
