/*
 * tree.c - a folder with one folder per class.
 *
 * A class is a folder at the top, whatever it holds, so that two trees with the same
 * folders have the same labels. Samples at the top itself have no class: they are
 * ignored, unless there are no others; then all are of one class, ".".
 */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source/indexed.h"
#include "loader/source/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What all folders below hold, folder included. */
static void tree_count(const struct scan_folder *folder, struct index_plan *plan,
		       uint64_t *ignored)
{
	plan->folders++;
	plan->samples += folder->file_count;
	plan->text += folder->text_used + strlen(folder->path) + 1;
	*ignored += folder->ignored;
	for (uint32_t i = 0; i < folder->folder_count; i++)
		tree_count(folder->folders[i], plan, ignored);
}

static bool file_is_next(const struct scan_folder *folder, uint32_t file,
			 uint32_t below)
{
	if (file == folder->file_count || below == folder->folder_count)
		return file < folder->file_count;
	return scan_order(folder->files[file].name, false, folder->folders[below]->name,
			  true) < 0;
}

/* Adds what a folder holds in path order; both its lists are in that order already. */
static void tree_add_folder(struct index *index, const struct scan_folder *folder,
			    uint32_t label)
{
	uint32_t number = index_add_folder(index, folder->path, &folder->stamp);
	uint32_t file = 0, below = 0;

	while (file < folder->file_count || below < folder->folder_count)
		if (file_is_next(folder, file, below)) {
			const struct scan_file *next = &folder->files[file++];
			const struct index_sample sample = {
				.folder = number, .size = next->size, .label = label};

			index_add_sample(index, next->name, &sample);
		} else {
			const struct scan_folder *next = folder->folders[below++];

			tree_add_folder(index, next,
					folder->parent != NULL ? label : next->label);
		}
}

static int compare_names(const void *a, const void *b)
{
	struct scan_folder *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/*
 * Numbers the folders at the top by name, which is not always path order, where the
 * '/' counts. Returns the names, to be freed.
 */
static const char **number_classes(const struct scan_folder *top)
{
	uint32_t count = top->folder_count;
	struct scan_folder **classes = malloc(count * sizeof(*classes));
	const char **names = malloc(count * sizeof(*names));

	if (classes == NULL || names == NULL) {
		free(names);
		names = NULL;
		goto out;
	}
	memcpy(classes, top->folders, count * sizeof(*classes));
	qsort(classes, count, sizeof(*classes), compare_names);
	for (uint32_t i = 0; i < count; i++) {
		classes[i]->label = i;
		names[i] = classes[i]->name;
	}
out:
	free(classes);
	return names;
}

static int refuse_empty(const struct index_origin *origin, uint64_t ignored,
			struct error *err)
{
	char shown[NAME_SHOWN];

	return error_set(
		err, ENODATA,
		"no %s in '%s' (%llu other files): it needs a folder per class with %s "
		"files in it",
		origin->kind->words, name_escape(origin->dataset, shown, sizeof(shown)),
		(unsigned long long)ignored, origin->kind->shown);
}

static int tree_fill(struct index *index, struct index_plan *plan, const char **names,
		     const struct scan_folder *top, struct error *err)
{
	int result;

	for (uint64_t i = 0; i < plan->classes; i++)
		plan->text += strlen(names[i]) + 1;
	result = index_new(index, plan, err);
	if (result < 0)
		return result;
	for (uint64_t i = 0; i < plan->classes; i++)
		index_add_class(index, names[i]);
	tree_add_folder(index, top, 0);
	return 0;
}

static int tree_make_index(const struct index_origin *origin, struct scan_folder *top,
			   struct index *index, struct error *err)
{
	static const char *only[] = {"."};
	struct index_plan plan = {.classes = 1};
	const char **names = NULL;
	uint64_t ignored = 0;
	int result;

	tree_count(top, &plan, &ignored);
	if (plan.samples == 0)
		return refuse_empty(origin, ignored, err);
	if (plan.samples > top->file_count) {
		names = number_classes(top);
		if (names == NULL)
			return error_sys(err, ENOMEM, "cannot index the data set");
		plan.classes = top->folder_count;
		plan.samples -= top->file_count;
		ignored += top->file_count;
		top->file_count = 0;
	}
	result = tree_fill(index, &plan, names != NULL ? names : only, top, err);
	if (result == 0)
		index->head->ignored = ignored;
	free(names);
	return result;
}

int tree_build(const struct index_origin *origin, struct index *index,
	       struct error *err)
{
	const struct scan_config config = {origin->base, origin->dataset, origin->kind,
					   origin->threads};
	struct scan_folder *top = scan_tree(&config, err);
	int result;

	if (top == NULL)
		return -1;
	result = tree_make_index(origin, top, index, err);
	scan_free(top);
	return result;
}

static bool tree_claims(const char *dataset, const struct stat *status,
			const struct source_config *config)
{
	(void)config;
	(void)dataset;
	return status != NULL && S_ISDIR(status->st_mode);
}

static void *tree_open(const char *dataset, const struct source_config *config,
		       struct source_facts *facts, struct error *err)
{
	struct index_origin origin = {
		.dataset = dataset, .base_path = dataset, .own_path = dataset};

	return indexed_open(&origin, tree_build, config, facts, err);
}

const struct source_variant source_tree = {
	.kind = "tree", .claims = tree_claims, .open = tree_open, INDEXED};
