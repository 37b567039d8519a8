/* data_path_test.c - which files are data. */
#include "profiler/io/base/data_path.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(pictures_and_archives_are)
{
	const char *const paths[] = {
		"a.jpg",    "/data/train/n01/1.JPEG",  "x.h5",         "/data/x.tar",
		"py",       "/data/some.solution.npy", "notes.so.jpg", "/data/dev/1",
		"/process", "/dev/shm/images/1.jpg",   "/system/1",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (!data_path(paths[i]))
			fail_msg("%s is no data", paths[i]);
}

TEST(code_and_the_system_are_not)
{
	const char *const paths[] = {
		"",
		"a.py",
		"/usr/lib/python3/x.pyc",
		"/lib/libz.so",
		"/lib/libz.so.1.2.3",
		"/x/__pycache__/a.cpython-311.pyc.139",
		"/proc/self/status",
		"/sys/devices/system/cpu/online",
		"/dev/urandom",
		"/memfd:torch (deleted)",
		"/tmp/x.bin (deleted)",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (data_path(paths[i]))
			fail_msg("%s is data", paths[i]);
}

TEST_WITH(an_open_file_has_its_absolute_path, scratch_setup, scratch_teardown)
{
	char path[4096], expected[4096];
	int fd, ends[2];

	scratch_file("some/file", 1);
	fd = open("some/file", O_RDONLY | O_CLOEXEC);
	snprintf(expected, sizeof(expected), "%s/some/file", scratch_path());
	assert_int_equal(data_path_of(fd, path, sizeof(path)), strlen(expected));
	assert_string_equal(path, expected);
	assert_int_equal(data_path_there((uint32_t)getpid(), fd, path, sizeof(path)),
			 strlen(expected));
	assert_int_equal(data_path_there(UINT32_MAX, fd, path, sizeof(path)), -1);
	assert_int_equal(data_path_of(fd, path, strlen(expected)), -1); /* no room */
	assert_int_equal(data_path_of(fd, path, strlen(expected) + 1),
			 strlen(expected));
	assert_int_equal(dup2(fd, 1023), 1023);
	assert_int_equal(data_path_of(1023, path, sizeof(path)), strlen(expected));
	close(1023);
	close(fd);
	assert_int_equal(data_path_of(fd, path, sizeof(path)), -1);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(data_path_of(ends[0], path, sizeof(path)), -1);
	close(ends[0]);
	close(ends[1]);
}
