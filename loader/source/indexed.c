#include "loader/source/indexed.h"
#include "loader/base/error.h"
#include "loader/base/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct indexed {
	int base;
	struct index index;
};

static int open_base(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char shown[NAME_SHOWN];

	if (fd < 0)
		error_sys(err, errno, "cannot read the folder '%s'",
			  name_escape(path, shown, sizeof(shown)));
	return fd;
}

static int open_index(struct indexed *indexed, const char *dataset, index_build build,
		      const struct source_config *config, struct error *err)
{
	struct index_origin origin = {
		.dataset = dataset,
		.base = indexed->base,
		.threads = config->threads,
	};
	char shown[NAME_SHOWN];
	int result;

	origin.dataset_fd = open(dataset, O_RDONLY | O_CLOEXEC);
	if (origin.dataset_fd < 0)
		return error_sys(err, errno, "cannot read the data set '%s'",
				 name_escape(dataset, shown, sizeof(shown)));
	result = build(&origin, &indexed->index, err);
	if (result == 0)
		result = index_finish(&indexed->index, err);
	close(origin.dataset_fd);
	return result;
}

void *indexed_open(const char *dataset, const char *base_path, index_build build,
		   const struct source_config *config, struct source_facts *facts,
		   struct error *err)
{
	struct indexed *indexed = calloc(1, sizeof(*indexed));
	const struct index_head *head;

	if (indexed == NULL) {
		error_sys(err, ENOMEM, "cannot index the data set");
		return NULL;
	}
	indexed->base = open_base(base_path, err);
	if (indexed->base < 0 || open_index(indexed, dataset, build, config, err) < 0) {
		indexed_close(indexed);
		return NULL;
	}
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
	free(indexed);
}

uint32_t indexed_size(const void *state, uint32_t sample)
{
	const struct indexed *indexed = state;

	return indexed->index.samples[sample].size;
}

uint32_t indexed_label(const void *state, uint32_t sample)
{
	const struct indexed *indexed = state;

	return indexed->index.samples[sample].label;
}

void indexed_place(const void *state, uint32_t sample, char *buffer,
		   struct source_place *place)
{
	const struct indexed *indexed = state;

	*place = (struct source_place){
		.dir = indexed->base,
		.path = index_path(&indexed->index, sample, buffer),
		.size = indexed->index.samples[sample].size,
	};
}

const char *indexed_class(const void *state, uint32_t label)
{
	const struct indexed *indexed = state;

	return indexed->index.text + indexed->index.classes[label];
}
