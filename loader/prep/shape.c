/* shape.c - types of numbers, and what a sample is as an array of them. */
#include "loader/prep/op.h"

#define PREP_TYPE_NAME(NAME, text, bytes)  text,
#define PREP_TYPE_BYTES(NAME, text, bytes) bytes,
const char *const prep_type_names[] = {PREP_TYPES(PREP_TYPE_NAME)
					       TOKEN_TYPES(PREP_TYPE_NAME)};
const size_t prep_type_bytes[] = {PREP_TYPES(PREP_TYPE_BYTES)
					  TOKEN_TYPES(PREP_TYPE_BYTES)};

struct prep_shape prep_picture_shape(const struct prep_config *config)
{
	const uint32_t size = config->size;

	if (config->layout == PREP_NHWC)
		return (struct prep_shape){config->type, 3, {size, size, 3}};
	return (struct prep_shape){config->type, 3, {3, size, size}};
}

struct prep_shape prep_bytes_shape(size_t bytes)
{
	return (struct prep_shape){PREP_U8, 1, {(uint32_t)bytes}};
}

size_t prep_shape_bytes(const struct prep_shape *shape)
{
	size_t bytes = prep_type_bytes[shape->type];

	for (uint32_t i = 0; i < shape->dims; i++)
		bytes *= shape->size[i];
	return bytes;
}

size_t prep_picture_bytes(const struct prep_config *config)
{
	const struct prep_shape shape = prep_picture_shape(config);

	return prep_shape_bytes(&shape);
}
