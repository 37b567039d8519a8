/* list.c - a list file: samples and labels that somebody chose. */
#include "loader/source/list.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/name.h"
#include "loader/base/thread_pool.h"
#include "loader/source/index/labels.h"
#include "loader/source/indexed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The samples of a list while it is read. */
struct list {
	const char *file;
	struct list_line {
		const char *path;
		uint32_t label; /* until labels_final() */
	} * lines;
	size_t count;
	struct labels labels;
	uint64_t paths; /* bytes */
};

static int at_line(const struct list *list, size_t line, const char *what,
		   struct error *err)
{
	char shown[NAME_SHOWN];

	return error_set(err, EINVAL, "%s:%zu: %s",
			 name_escape(list->file, shown, sizeof(shown)), line, what);
}

static bool list_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Cuts a line into path and label, in place. NULL: there are not two fields. */
static char *list_cut(char *line)
{
	char *end = line + strlen(line);
	char *label;

	while (end > line && (list_blank(end[-1]) || end[-1] == '\r'))
		*--end = '\0';
	while (end > line && !list_blank(end[-1]))
		end--;
	label = end;
	while (end > line && list_blank(end[-1]))
		*--end = '\0';
	return end > line ? label : NULL;
}

static int64_t list_label(struct list *list, const char *label, size_t line,
			  struct error *err)
{
	const char *why = NULL;
	int64_t number = labels_add(&list->labels, label, &why);

	if (number == -EINVAL)
		return at_line(list, line, why, err);
	return number < 0 ? error_sys(err, ENOMEM, "cannot read the list") : number;
}

static int list_add_line(struct list *list, char *line, size_t number,
			 struct error *err)
{
	const char *label;
	int64_t value;

	if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0')
		return 0;
	label = list_cut(line);
	if (label == NULL)
		return at_line(list, number,
			       "no label: a line is 'path label', with a blank between",
			       err);
	if (strlen(line) >= PATH_MAX)
		return at_line(list, number, "the path is too long", err);
	value = list_label(list, label, number, err);
	if (value < 0)
		return (int)value;
	list->lines[list->count++] = (struct list_line){line, (uint32_t)value};
	list->paths += strlen(line) + 1;
	return 0;
}

static int read_lines(struct list *list, char *text, size_t size, struct error *err)
{
	size_t number = 1;
	int result = 0;

	for (char *line = text; line < text + size && result == 0; number++) {
		size_t left = (size_t)(text + size - line);
		char *end = memchr(line, '\n', left);

		if (end == NULL)
			end = text + size;
		*end = '\0';
		if (strlen(line) != (size_t)(end - line))
			return at_line(
				list, number,
				"a 0 byte: this is no list of lines 'path label'", err);
		result = list_add_line(list, line, number, err);
		line = end + 1;
	}
	return result;
}

static size_t count_lines(const char *text, size_t size)
{
	size_t count = 1;

	for (const char *at = text; (at = memchr(at, '\n', size - (size_t)(at - text)));
	     at++)
		count++;
	return count;
}

static void list_fini(struct list *list)
{
	labels_fini(&list->labels);
	free(list->lines);
}

static int list_fill(const struct list *list, const struct index_stamp *stamp,
		     struct index *index, struct error *err)
{
	struct index_plan plan = {
		.folders = 1,
		.samples = list->count,
		.classes = list->labels.classes,
		.text = sizeof("") + list->paths + labels_text(&list->labels),
	};
	int result = index_new(index, &plan, err);

	if (result < 0)
		return result;
	index_add_folder(index, "", stamp);
	labels_add_classes(&list->labels, index);
	for (size_t i = 0; i < list->count; i++) {
		const struct index_sample sample = {
			.label = labels_final(&list->labels, list->lines[i].label),
		};

		index_add_sample(index, list->lines[i].path, &sample);
	}
	return 0;
}

static int list_make_index(struct list *list, const struct index_stamp *stamp,
			   struct index *index, struct error *err)
{
	if (list->count == 0) {
		char shown[NAME_SHOWN];

		return error_set(err, ENODATA,
				 "the list '%s' names no samples: it needs lines 'path "
				 "label'",
				 name_escape(list->file, shown, sizeof(shown)));
	}
	if (labels_rank(&list->labels) < 0)
		return error_sys(err, ENOMEM, "cannot read the list");
	return list_fill(list, stamp, index, err);
}

int list_parse(char *text, size_t size, const char *file,
	       const struct index_stamp *stamp, struct index *index, struct error *err)
{
	struct list list = {.file = file};
	int result;

	list.lines = calloc(count_lines(text, size), sizeof(*list.lines));
	if (list.lines == NULL)
		return error_sys(err, ENOMEM, "cannot read the list");
	result = read_lines(&list, text, size, err);
	if (result == 0)
		result = list_make_index(&list, stamp, index, err);
	list_fini(&list);
	return result;
}

struct sizes {
	const struct index *index;
	int base;
	atomic_uint_fast64_t next; /* sample that nobody has taken yet */
	atomic_uint_fast64_t reached;
	atomic_int code; /* errno of one that was not */
};

static void find_sizes(void *context)
{
	enum { PORTION = 256 };
	struct sizes *sizes = context;
	uint64_t count = sizes->index->head->samples;
	uint64_t first;

	while ((first = atomic_fetch_add(&sizes->next, PORTION)) < count)
		for (uint64_t i = first; i < first + PORTION && i < count; i++) {
			struct index_sample *sample = &sizes->index->samples[i];
			struct stat status;

			if (fstatat(sizes->base, sizes->index->text + sample->name,
				    &status, 0) < 0) {
				sizes->code = errno;
			} else {
				sample->size = index_bytes(&status);
				sizes->reached++;
			}
		}
}

/* A list that is moved away from its files names none of them: that is worth a word. */
static int set_sizes(const struct index_origin *origin, struct index *index,
		     struct error *err)
{
	struct sizes sizes = {.index = index, .base = origin->base};
	char list[NAME_SHOWN / 2], first[NAME_SHOWN / 2];

	thread_pool_run(origin->threads, find_sizes, &sizes);
	if (sizes.reached > 0)
		return 0;
	return error_sys(
		err, sizes.code,
		"none of the files in '%s' is there; paths start at its folder; "
		"the first is '%s'",
		name_escape(origin->dataset, list, sizeof(list)),
		name_escape(index->text + index->samples[0].name, first,
			    sizeof(first)));
}

static int list_parse_text(const struct index_origin *origin, const struct stat *status,
			   struct index *index, struct error *err)
{
	size_t size = (size_t)status->st_size;
	struct index_stamp stamp;
	char *text = calloc(size + 1, 1);
	int result;

	if (text == NULL)
		return error_sys(err, ENOMEM, "cannot read the list");
	index_stamp_set(&stamp, status);
	result = io_read(origin->dataset_fd, text, size);
	if (result == 0) {
		result = list_parse(text, size, origin->dataset, &stamp, index, err);
	} else {
		char shown[NAME_SHOWN];

		error_sys(err, -result, "cannot read the list '%s'",
			  name_escape(origin->dataset, shown, sizeof(shown)));
	}
	free(text);
	return result;
}

int list_build(const struct index_origin *origin, struct index *index,
	       struct error *err)
{
	struct stat status;
	int result;

	if (fstat(origin->dataset_fd, &status) < 0)
		return error_sys(err, errno, "cannot read the list");
	result = list_parse_text(origin, &status, index, err);
	if (result == 0)
		result = set_sizes(origin, index, err);
	return result;
}

static bool list_claims(const char *dataset, const struct stat *status,
			const struct source_config *config)
{
	(void)config;
	(void)dataset;
	return status != NULL && S_ISREG(status->st_mode);
}

static void *list_open(const char *dataset, const struct source_config *config,
		       struct source_facts *facts, struct error *err)
{
	char folder[PATH_MAX];
	struct index_origin origin = {
		.dataset = dataset, .base_path = folder, .own_path = dataset};

	indexed_folder(dataset, folder);
	return indexed_open(&origin, list_build, config, facts, err);
}

const struct source_variant source_list = {
	.kind = "list", .claims = list_claims, .open = list_open, INDEXED};
