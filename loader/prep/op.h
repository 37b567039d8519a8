/* op.h - what a prep op provides. Private to loader/prep/. */
#ifndef DSA_PREP_OP_H
#define DSA_PREP_OP_H

#include "loader/base/variants.h"
#include "loader/prep.h"

/* One encoded sample. */
struct prep_sample {
	const unsigned char *bytes;
	size_t size;
	uint64_t seed;
};

struct prep_op {
	const char *name;
	/* Of a sample that is prepared as config says; NULL: prep_picture_shape(). */
	struct prep_shape (*shape)(const struct prep_config *config);
	/* What config can't be: -EINVAL and err. NULL: it is that of a picture. */
	int (*check)(const struct prep_config *config, struct error *err);
	/* What one thread needs: scratch memory, a decoder. NULL: out of memory. */
	void *(*state_new)(const struct prep_config *config);
	void (*state_free)(void *state);
	/* As prep_run() promises. */
	int (*run)(void *state, const struct prep_sample *sample, void *out,
		   struct error *err);
	/* As prep_pixels() promises; NULL: it decodes nothing. */
	uint64_t (*pixels)(const void *state);
};

#define PREP_DECLARE(name) extern const struct prep_op prep_##name;
PREP_OPS(PREP_DECLARE)

extern const size_t prep_type_bytes[]; /* of a value, by enum prep_type */

/* The square that config asks for, and its bytes. */
struct prep_shape prep_picture_shape(const struct prep_config *config);
size_t prep_picture_bytes(const struct prep_config *config);

size_t prep_shape_bytes(const struct prep_shape *shape);

/* So many bytes as they are. */
struct prep_shape prep_bytes_shape(size_t bytes);

#endif
