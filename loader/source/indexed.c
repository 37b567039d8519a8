/* indexed.c - opens the index of a data set of files, and answers from it. */
#include "loader/source/indexed.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source/index_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct indexed {
	struct index index; /* first: see indexed.h */
	int base;
	void *own;
};

void indexed_folder(const char *dataset, char folder[])
{
	const char *slash = strrchr(dataset, '/');

	strcpy(folder, ".");
	if (slash != NULL)
		snprintf(folder, PATH_MAX, "%.*s",
			 (int)(slash == dataset ? 1 : slash - dataset), dataset);
}

static int open_base(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		char shown[NAME_SHOWN];

		error_sys(err, errno, "cannot read the folder '%s'",
			  name_escape(path, shown, sizeof(shown)));
	}
	return fd;
}

static int find_index(const struct index_origin *origin, index_build build,
		      const char *index_dir, struct index *index, struct error *err)
{
	int64_t began = (int64_t)clock_real();
	struct index_cache cache;
	int result;

	index_cache_open(&cache, index_dir, origin->base_path, origin->dataset,
			 origin->kind->seed ^ origin->seed);
	if (index_cache_load(&cache, origin, index))
		return 0;
	result = build(origin, index, err);
	if (result == 0)
		result = index_finish(index, err);
	if (result == 0)
		index_cache_save(&cache, index, began);
	return result;
}

static int open_index(struct index_origin *origin, index_build build,
		      const char *index_dir, struct index *index, struct error *err)
{
	int result;

	origin->dataset_fd = open(origin->own_path, O_RDONLY | O_CLOEXEC);
	if (origin->dataset_fd < 0) {
		char shown[NAME_SHOWN];

		return error_sys(err, errno, "cannot read the data set '%s'",
				 name_escape(origin->dataset, shown, sizeof(shown)));
	}
	result = find_index(origin, build, index_dir, index, err);
	close(origin->dataset_fd);
	return result;
}

void *indexed_open(struct index_origin *origin, index_build build,
		   const struct source_config *config, struct source_facts *facts,
		   struct error *err)
{
	struct indexed *indexed = calloc(1, sizeof(*indexed));
	const struct index_head *head;

	if (indexed == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot index the data set"));
	origin->threads = config->threads;
	origin->kind = file_kind_of(config->prep);
	origin->base = indexed->base = open_base(origin->base_path, err);
	if (origin->base < 0 ||
	    open_index(origin, build, config->index_dir, &indexed->index, err) < 0) {
		indexed_close(indexed);
		return NULL;
	}
	indexed->own = origin->own;
	head = indexed->index.head;
	*facts = (struct source_facts){
		.count = head->samples,
		.classes = head->classes,
		.bytes = head->bytes,
		.ignored = head->ignored,
		.digest = head->digest,
	};
	return indexed;
}

void indexed_close(void *state)
{
	struct indexed *indexed = state;

	if (indexed->base >= 0)
		close(indexed->base);
	index_free(&indexed->index);
	free(indexed->own);
	free(indexed);
}

const void *indexed_own(const void *state)
{
	const struct indexed *indexed = state;

	return indexed->own;
}

uint32_t indexed_size(const void *state, uint32_t sample)
{
	const struct index *index = state;

	return index->samples[sample].size;
}

uint32_t indexed_label(const void *state, uint32_t sample)
{
	const struct index *index = state;

	return index->samples[sample].label;
}

void indexed_place(const void *state, uint32_t sample, char *buffer,
		   struct source_place *place)
{
	const struct indexed *indexed = state;
	const struct index *index = &indexed->index;
	const struct index_sample *at = &index->samples[sample];
	bool part = index->head->offsets > 0;

	*place = (struct source_place){
		.dir = indexed->base,
		.path = part ? index->text + index->folders[at->folder].path
			     : index_path(index, sample, buffer),
		.offset = part ? index->offsets[sample] : 0,
		.size = at->size,
		.part = part,
	};
}

const char *indexed_part_name(const void *state, uint32_t sample, char *buffer,
			      size_t size)
{
	const struct indexed *indexed = state;
	char path[PATH_MAX];

	return name_escape(index_path(&indexed->index, sample, path), buffer, size);
}

const char *indexed_class(const void *state, uint32_t label)
{
	const struct index *index = state;

	return index->text + index->classes[label];
}
