/* shards.c - finds the shards of a data set. */
#include "loader/source/shards.h"
#include "loader/base/bytes/array.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
#include "loader/source/index/file_kind.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARDS_MOST = 1 << 20, DIGITS_MOST = 9 };

/* "head{FIRST..LAST}tail". */
struct shards_pattern {
	const char *head, *tail;
	int head_size, digits;
	uint64_t first, last;
};

static const char *shards_base_name(const char *dataset)
{
	const char *slash = strrchr(dataset, '/');

	return slash != NULL ? slash + 1 : dataset;
}

static bool shards_number(const char *from, const char *to, uint64_t *value)
{
	char digits[DIGITS_MOST + 1];

	if (to <= from || to - from > DIGITS_MOST)
		return false;
	memcpy(digits, from, (size_t)(to - from));
	digits[to - from] = '\0';
	return number_whole(digits, UINT32_MAX, value);
}

/* Of a name without folders. */
static bool shards_pattern_read(const char *name, struct shards_pattern *pattern)
{
	const char *open = strchr(name, '{');
	const char *dots = open != NULL ? strstr(open, "..") : NULL;
	const char *close = dots != NULL ? strchr(dots, '}') : NULL;

	if (close == NULL || !shards_number(open + 1, dots, &pattern->first) ||
	    !shards_number(dots + 2, close, &pattern->last))
		return false;
	pattern->head = name;
	pattern->head_size = (int)(open - name);
	pattern->tail = close + 1;
	pattern->digits = (int)(dots - open) - 1;
	return true;
}

static int shards_add(struct shards *shards, size_t *room, char *path)
{
	char **moved =
		array_grow(shards->paths, room, shards->count + 1, sizeof(*moved));

	if (moved == NULL || path == NULL) {
		free(path);
		return -ENOMEM;
	}
	shards->paths = moved;
	shards->paths[shards->count++] = path;
	return 0;
}

static int shards_count_up(const struct shards_pattern *pattern, struct shards *shards)
{
	size_t room = 0;
	int result = 0;

	for (uint64_t i = pattern->first; i <= pattern->last && result == 0; i++) {
		char *path = NULL;

		if (asprintf(&path, "%.*s%0*llu%s", pattern->head_size, pattern->head,
			     pattern->digits, (unsigned long long)i, pattern->tail) < 0)
			path = NULL;
		result = shards_add(shards, &room, path);
	}
	return result;
}

static int shards_compare(const void *a, const void *b)
{
	char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static bool shards_entry_is(const struct dirent *entry, shards_named named)
{
	return entry->d_name[0] != '.' && named(entry->d_name);
}

static int shards_in_folder(const char *path, shards_named named, struct shards *shards)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t room = 0;
	int result = folder != NULL ? 0 : -errno;

	while (folder != NULL && result == 0 && (entry = readdir(folder)) != NULL) {
		if (shards_entry_is(entry, named))
			result = shards_add(shards, &room, strdup(entry->d_name));
		else
			shards->ignored += strcmp(entry->d_name, ".") != 0 &&
					   strcmp(entry->d_name, "..") != 0;
	}
	if (folder != NULL)
		closedir(folder);
	if (shards->count > 0)
		qsort(shards->paths, shards->count, sizeof(*shards->paths),
		      shards_compare);
	return result;
}

/* A folder is one of shards when they are all that could be samples in it. */
static bool shards_folder_is(const char *path, const struct file_kind *kind,
			     shards_named named)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	bool found = false, other = false;

	while (folder != NULL && !other && (entry = readdir(folder)) != NULL) {
		found = found || shards_entry_is(entry, named);
		other = entry->d_name[0] != '.' &&
			(entry->d_type == DT_DIR || file_kind_has(kind, entry->d_name));
	}
	if (folder != NULL)
		closedir(folder);
	return found && !other;
}

bool shards_claim(const char *dataset, const struct stat *status,
		  const struct source_config *config, shards_named named)
{
	const char *name = shards_base_name(dataset);
	struct shards_pattern pattern;

	if (status == NULL)
		return named(name) && shards_pattern_read(name, &pattern);
	if (S_ISDIR(status->st_mode))
		return shards_folder_is(dataset, file_kind_of(config->prep), named);
	return S_ISREG(status->st_mode) && named(name);
}

void shards_origin(const char *dataset, char *buffer, struct index_origin *origin)
{
	struct stat status;
	bool folder = stat(dataset, &status) == 0 && S_ISDIR(status.st_mode);

	origin->dataset = dataset;
	indexed_folder(dataset, buffer);
	origin->base_path = folder ? dataset : buffer;
	origin->own_path = origin->base_path;
}

size_t shards_common(const char *name)
{
	struct shards_pattern pattern;

	return shards_pattern_read(name, &pattern) ? (size_t)pattern.head_size
						   : strlen(name);
}

static int shards_of_pattern(const char *dataset, const struct shards_pattern *pattern,
			     struct shards *shards, struct error *err)
{
	char shown[NAME_SHOWN];

	if (pattern->last >= pattern->first &&
	    pattern->last - pattern->first < SHARDS_MOST)
		return shards_count_up(pattern, shards);
	return error_set(err, EINVAL,
			 "'%s' counts %s: between the braces are the first and the "
			 "last number, of at most 1048576 shards",
			 name_escape(dataset, shown, sizeof(shown)),
			 pattern->last < pattern->first ? "down" : "too many shards");
}

int shards_of_name(const char *name, struct shards *shards, struct error *err)
{
	struct shards_pattern pattern;
	size_t room = 0;
	int result;

	if (shards_pattern_read(name, &pattern))
		result = shards_of_pattern(name, &pattern, shards, err);
	else
		result = shards_add(shards, &room, strdup(name));
	return result == -ENOMEM ? error_sys(err, ENOMEM, "cannot list the shards")
				 : result;
}

int shards_list(const struct index_origin *origin, shards_named named,
		struct shards *shards, struct error *err)
{
	const char *name = shards_base_name(origin->dataset);
	struct shards_pattern pattern;
	struct stat status;
	size_t room = 0;
	int result;

	*shards = (struct shards){
		.folder = strcmp(origin->base_path, origin->dataset) == 0};
	if (shards->folder)
		result = shards_in_folder(origin->base_path, named, shards);
	else if (stat(origin->dataset, &status) < 0 &&
		 shards_pattern_read(name, &pattern))
		result = shards_of_pattern(origin->dataset, &pattern, shards, err);
	else
		result = shards_add(shards, &room, strdup(name));
	if (result < 0 && result != -EINVAL)
		error_sys(err, -result, "cannot list the shards");
	return result;
}

void shards_free(struct shards *shards)
{
	for (size_t i = 0; i < shards->count; i++)
		free(shards->paths[i]);
	free(shards->paths);
}

const char *shards_shown(const struct index_origin *origin, const char *path,
			 char *buffer, size_t size)
{
	char whole[2 * PATH_MAX];

	if (strcmp(origin->base_path, ".") == 0)
		return name_escape(path, buffer, size);
	snprintf(whole, sizeof(whole), "%s/%s", origin->base_path, path);
	return name_escape(whole, buffer, size);
}
