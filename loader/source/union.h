/* union.h - several data sets as one source. Promised in loader/source.h. */
#ifndef DSA_SOURCE_UNION_H
#define DSA_SOURCE_UNION_H

#include "loader/source/variant.h"

extern const struct source_variant source_union_variant; /* claims no data set */

/* Takes the parts, also when it fails. */
void *union_open(struct source *const *parts, unsigned count,
		 struct source_facts *facts, struct error *err);

const struct source *union_part(const void *state, unsigned part);
const uint64_t *union_parts(const void *state);
uint32_t union_in_part(const void *state, unsigned part, uint32_t sample);

#endif
