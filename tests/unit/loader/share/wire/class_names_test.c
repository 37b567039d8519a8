#include "loader/base/error.h"
#include "loader/share/wire/class_names.h"
#include "loader/source.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct error err;

static int put(const char *bytes, size_t size)
{
	int fd = memfd_create("names", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

TEST(names_arrive_as_the_source_has_them)
{
	const struct source_config config = {.index_dir = ""};
	struct source *source = source_open("synthetic:20", &config, &err);
	uint32_t classes;
	char *names;
	int fd;

	assert_non_null(source);
	classes = source_facts(source)->classes;
	fd = class_names_write(source, &err);
	assert_true(fd >= 0);
	assert_int_equal(class_names_read(fd, classes, &names, &err), 0);
	for (uint32_t i = 0; i < classes; i++)
		assert_string_equal(class_names_get(names, classes, i),
				    source_class(source, i));
	assert_null(class_names_get(names, classes, classes));
	free(names);
	close(fd);
	source_close(source);
}

TEST(cut_and_missing_names_are_refused)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint32_t count;
		int result;
	} row[] = {
		{"a\0b", 4, 2, 0},
		{"a\0b", 4, 1, 0},
		{"a\0b", 4, 3, -EPROTO},
		{"a\0b", 3, 2, -EPROTO},
		{"", 0, 0, 0},
		{"", 0, 1, -EPROTO},
		{"\0", 2, 2, 0},
		{"ab", 2, 1, -EPROTO},
		{"a\0b", 4, UINT32_MAX, -EPROTO},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char *names = NULL;
		int fd = put(row[i].bytes, row[i].size);

		assert_int_equal(class_names_read(fd, row[i].count, &names, &err),
				 row[i].result);
		assert_true((names != NULL) == (row[i].result == 0));
		free(names);
		close(fd);
	}
}

TEST(what_is_no_memfd_is_refused)
{
	char *names = NULL;
	int ends[2];

	assert_int_equal(class_names_read(-1, 1, &names, &err), -EPROTO);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(class_names_read(ends[0], 1, &names, &err), -EPROTO);
	assert_null(names);
	close(ends[0]);
	close(ends[1]);
}

TEST(memory_that_runs_out_is_told)
{
	char *names = NULL;
	int fd = put("a\0b", 4);

	nomem_at(1);
	assert_int_equal(class_names_read(fd, 2, &names, &err), -ENOMEM);
	nomem_at(0);
	assert_null(names);
	close(fd);
}
