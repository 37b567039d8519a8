#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <stddef.h>
#include <unistd.h>

static char folder[TREE_PATH];

int scratch_setup(void **state)
{
	(void)state;
	tree_make(folder);
	return chdir(folder);
}

int scratch_teardown(void **state)
{
	(void)state;
	tree_remove(folder);
	return chdir("/");
}

const char *scratch_path(void)
{
	return folder;
}

void scratch_file(const char *path, size_t size)
{
	FILE *file = tree_file("", path);

	for (size_t i = 0; i < size; i++)
		fputc('x', file);
	fclose(file);
}

void scratch_text(const char *path, const char *text)
{
	tree_put("", path, text);
}

long scratch_size(const char *path)
{
	FILE *in = fopen(path, "r");
	long length;

	assert_non_null(in);
	fseek(in, 0, SEEK_END);
	length = ftell(in);
	fclose(in);
	return length;
}
