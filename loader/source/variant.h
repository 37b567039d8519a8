/*
 * variant.h - what a kind of source provides. Private to loader/source/.
 *
 * A new source is one file with a struct source_variant and a line in
 * loader/base/variants.h. synthetic.c is the template.
 */
#ifndef DSA_SOURCE_VARIANT_H
#define DSA_SOURCE_VARIANT_H

#include "loader/base/variants.h"
#include "loader/source.h"

#include <stdbool.h>

struct stat;

struct source_variant {
	const char *kind;

	/* True if this variant is to open the data set. status: NULL if no such file.
	 */
	bool (*claims)(const char *dataset, const struct stat *status,
		       const struct source_config *config);

	/* source_spelling(), of data sets that it claims without a look at files. May be
	 * NULL: they are paths. */
	void (*spell)(const char *dataset, char *name, size_t size);

	/* NULL and err, or the state that the others get; fills *facts. */
	void *(*open)(const char *dataset, const struct source_config *config,
		      struct source_facts *facts, struct error *err);
	void (*close)(void *state);

	/* Any thread; sample and label are in range. */
	uint32_t (*size)(const void *state, uint32_t sample);
	uint32_t (*label)(const void *state, uint32_t sample);
	/* A member of a shard: the shard's path, the member's offset and size, part. */
	void (*place)(const void *state, uint32_t sample, char *buffer,
		      struct source_place *place);
	const char *(*class)(const void *state, uint32_t label);

	/* source_name(), of samples that have a better name than their file's path; may
	 * be NULL if all have a path. */
	const char *(*name)(const void *state, uint32_t sample, char *buffer,
			    size_t size);

	/* source_unseal(); NULL: a place has the sample and nothing else. */
	int (*unseal)(const void *state, uint32_t sample, const void *bytes,
		      struct source_part *part, const char **why);

	/* source_outdated(); NULL: what it has is looked at anew each time. */
	bool (*outdated)(const void *state, uint32_t sample);
};

#define SOURCE_DECLARE(name) extern const struct source_variant source_##name;
SOURCES(SOURCE_DECLARE)

struct source {
	const struct source_variant *variant;
	void *state;
	struct source_facts facts;
};

/* A source whose state is open already. NULL: no memory, and the state is closed. */
struct source *source_of(const struct source_variant *variant, void *state,
			 const struct source_facts *facts, struct error *err);

#endif
