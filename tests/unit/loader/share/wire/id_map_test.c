#include "loader/base/error.h"
#include "loader/share/wire/id_map.h"
#include "loader/source.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct error err;

static struct source *open_part(const char *path)
{
	const struct source_config config = {.index_dir = ""};
	struct source *source = source_open(path, &config, &err);

	assert_non_null(source);
	return source;
}

TEST_WITH(each_data_set_has_its_own_numbers_and_labels, scratch_setup, scratch_teardown)
{
	static const struct id_map_entry expected[2][3] = {
		{{0, 0}, {1, 1}, {UINT32_MAX, UINT32_MAX}},
		{{UINT32_MAX, UINT32_MAX}, {1, 0}, {0, 0}},
	};
	struct source *parts[2], *all;

	scratch_file("a/x/1.jpg", 10);
	scratch_file("a/y/2.jpg", 20);
	scratch_file("b/z/0.jpg", 30);
	assert_int_equal(link("a/y/2.jpg", "b/z/2.jpg"), 0);
	parts[0] = open_part("a");
	parts[1] = open_part("b");
	all = source_union(parts, 2, &err);
	assert_non_null(all);
	assert_int_equal(source_count(all), 3);
	for (unsigned part = 0; part < 2; part++) {
		struct id_map id_map = {0};
		int fd = id_map_write(all, part, &err);

		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, "x", 1, 0), -1);
		assert_int_equal(errno, EPERM);
		assert_int_equal(id_map_read(fd, &id_map, &err), 0);
		close(fd);
		assert_int_equal(id_map.count, 3);
		for (uint32_t i = 0; i < 3; i++) {
			struct id_map_entry own = id_map_find(&id_map, i);

			assert_int_equal(own.sample, expected[part][i].sample);
			assert_int_equal(own.label, expected[part][i].label);
		}
		assert_int_equal(id_map_find(&id_map, 3).sample, UINT32_MAX);
		id_map_fini(&id_map);
		id_map_fini(&id_map);
	}
	source_close(all);
}

TEST_WITH(what_may_still_change_is_refused, scratch_setup, scratch_teardown)
{
	enum { ALL = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };
	static const struct {
		size_t bytes;
		int seals, result;
	} row[] = {
		{16, ALL, 0},
		{16, ALL & ~F_SEAL_SHRINK, -EPROTO},
		{16, ALL & ~F_SEAL_WRITE, -EPROTO},
		{16, 0, -EPROTO},
		{0, ALL, -EPROTO},
		{15, ALL, -EPROTO},
	};
	int ends[2];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int fd = memfd_create("numbers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		struct id_map id_map = {0};

		assert_int_equal(ftruncate(fd, (off_t)row[i].bytes), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, row[i].seals), 0);
		assert_int_equal(id_map_read(fd, &id_map, &err), row[i].result);
		assert_true((id_map.of != NULL) == (row[i].result == 0));
		id_map_fini(&id_map);
		close(fd);
	}
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(id_map_read(ends[0], &(struct id_map){0}, &err), -EPROTO);
	close(ends[0]);
	close(ends[1]);
}
