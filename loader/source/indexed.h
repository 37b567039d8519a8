/* indexed.h - what the sources that are made of files have in common. */
#ifndef DSA_SOURCE_INDEXED_H
#define DSA_SOURCE_INDEXED_H

#include "loader/source/index/file_kind.h"
#include "loader/source/index/index.h"
#include "loader/source/variant.h"

struct shard_kind;

/* What an index is built from. */
struct index_origin {
	const char *dataset;   /* as the user called it */
	const char *base_path; /* of the folder that paths in the index start from */
	const char *own_path;  /* of what "" is in the index: a folder or list file */
	int dataset_fd;        /* own_path, open */
	int base;              /* base_path, open */
	const struct file_kind *kind;    /* which files are samples */
	uint64_t seed;                   /* beside the kind's: tells indexes apart */
	const struct shard_kind *shards; /* of a data set of shards */
	void *own; /* of the source: indexed_own(); freed with the state */
	unsigned threads;
};

typedef int (*index_build)(const struct index_origin *origin, struct index *index,
			   struct error *err);

/* A folder with a folder for each class; a list of files with their labels. */
int tree_build(const struct index_origin *origin, struct index *index,
	       struct error *err);
int list_build(const struct index_origin *origin, struct index *index,
	       struct error *err);

/* The folder that a file lies in, PATH_MAX bytes. */
void indexed_folder(const char *dataset, char folder[]);

/*
 * Opens the index of a data set: from the index cache if it fits the files, else from
 * `build`, whose result is kept then. Of *origin the caller sets dataset and the paths.
 */
void *indexed_open(struct index_origin *origin, index_build build,
		   const struct source_config *config, struct source_facts *facts,
		   struct error *err);

/* What the origin had; its source alone asks. */
const void *indexed_own(const void *state);

/* These are members of struct source_variant. */
#define INDEXED                                                                        \
	.close = indexed_close, .size = indexed_size, .label = indexed_label,          \
	.place = indexed_place, .class = indexed_class

void indexed_close(void *state);
void indexed_place(const void *state, uint32_t sample, char *buffer,
		   struct source_place *place);

/* Of any state that begins with a struct index. */
uint32_t indexed_size(const void *state, uint32_t sample);
uint32_t indexed_label(const void *state, uint32_t sample);
const char *indexed_class(const void *state, uint32_t label);

/* Of a part: the shard and its name there. */
const char *indexed_part_name(const void *state, uint32_t sample, char *buffer,
			      size_t size);

#endif
