#include "tests/lib/tree.h"
#include "tests/lib/test.h"

#include <ftw.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void tree_make(char root[TREE_PATH])
{
	snprintf(root, TREE_PATH, "/tmp/dsa-test-XXXXXX");
	assert_non_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

void tree_remove(const char *root)
{
	assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

FILE *tree_file(const char *root, const char *path)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1;
	     (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	return file;
}

void tree_put(const char *root, const char *path, const char *text)
{
	FILE *file = tree_file(root, path);

	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}
