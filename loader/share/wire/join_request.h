/* join_request.h - the HELLO of a program: filled, and understood. Private to
 * loader/share/. */
#ifndef DSA_SHARE_JOIN_REQUEST_H
#define DSA_SHARE_JOIN_REQUEST_H

#include "loader/share/wire/protocol.h"

struct dsa_config;
struct options;
struct prep_config;

/* From a program's options. -EINVAL: a shared loader does not support
 * what they ask for. */
int join_request_fill(struct protocol_hello *hello, const struct options *options,
		      struct error *err);

/* Sets those members of *config that HELLO has: batch, order and what a sample becomes.
 * Texts stay HELLO's. -EINVAL: a number that no program has. */
int join_request_config(const struct protocol_hello *hello, struct dsa_config *config,
			struct error *err);

/* What HELLO wants a sample to become. Its op stays HELLO's. 0 or -EINVAL. */
int join_request_image(const struct protocol_hello *hello, struct prep_config *image,
		       struct error *err);

/* Whether a loader's output is what HELLO wants; that of decoded pictures, of which
 * anything is made. 1, 0, or -errno. */
int join_request_fits(const struct protocol_hello *hello, const char *output,
		      uint64_t sample_bytes, struct error *err);
int join_request_decoded(const char *output, uint64_t sample_bytes, struct error *err);

#endif
