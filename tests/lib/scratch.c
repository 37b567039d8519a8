#include "tests/lib/scratch.h"

#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[PATH_MAX];

int scratch_setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/dsa-test-XXXXXX");
	return mkdtemp(folder) == NULL || chdir(folder) < 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

int scratch_teardown(void **state)
{
	(void)state;
	return chdir("/") < 0 || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0;
}

const char *scratch_path(void)
{
	return folder;
}

static FILE *create(const char *path)
{
	char part[PATH_MAX];
	FILE *file;

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = part; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(part, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	return file;
}

void scratch_file(const char *path, size_t size)
{
	FILE *file = create(path);

	for (size_t i = 0; i < size; i++)
		fputc('x', file);
	fclose(file);
}

void scratch_text(const char *path, const char *text)
{
	FILE *file = create(path);

	fputs(text, file);
	fclose(file);
}
