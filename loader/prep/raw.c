/*
 * The null op: a sample is the head of its encoded bytes, zeros behind. What it
 * costs is what delivering costs, and it is the template for a new op.
 */
#include "loader/base/bytes/copy_past.h"
#include "loader/prep/op.h"

#include <stdlib.h>
#include <string.h>

struct raw {
	size_t bytes; /* of a sample delivered */
};

static struct prep_shape raw_shape(const struct prep_config *config)
{
	return prep_bytes_shape(prep_picture_bytes(config));
}

static void *raw_new(const struct prep_config *config)
{
	struct raw *raw = malloc(sizeof(*raw));

	if (raw != NULL)
		raw->bytes = prep_picture_bytes(config);
	return raw;
}

static int raw_run(void *state, const struct prep_sample *sample, void *out,
		   struct error *err)
{
	const struct raw *raw = state;
	size_t head = sample->size < raw->bytes ? sample->size : raw->bytes;

	(void)err;
	if (head > 0)
		copy_past(out, sample->bytes, head, head);
	memset((unsigned char *)out + head, 0, raw->bytes - head);
	return 0;
}

const struct prep_op prep_raw = {
	.name = "raw",
	.shape = raw_shape,
	.state_new = raw_new,
	.state_free = free,
	.run = raw_run,
};
