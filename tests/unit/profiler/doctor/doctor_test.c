/* The doctor sees what is there, and what is taken away. */
#include "profiler/doctor/check.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/dsa-doctor-XXXXXX";

static const struct doctor_line *line(const struct doctor *doctor, const char *name)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (strcmp(doctor->lines[i].name, name) == 0)
			return &doctor->lines[i];
	return NULL;
}

static void write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Of a program without arguments. */
static void doctor_examine_one(struct doctor *doctor, const char *dataset,
			       const char *program)
{
	char *name = program != NULL ? strdup(program) : NULL;
	char *const words[] = {name, NULL};

	doctor_examine(doctor, dataset, name != NULL ? words : NULL);
	free(name);
}

static enum doctor_status status_of(const char *dataset, const char *program,
				    const char *name)
{
	struct doctor doctor;

	doctor_examine_one(&doctor, dataset, program);
	assert_non_null(line(&doctor, name));
	return line(&doctor, name)->status;
}

TEST(only_what_was_named_is_examined)
{
	struct doctor doctor;

	doctor_examine(&doctor, NULL, NULL);
	assert_null(line(&doctor, "data set"));
	assert_null(line(&doctor, "program"));
	assert_non_null(line(&doctor, "kernel"));
}

TEST(every_line_that_is_not_ok_says_how_to_mend_it)
{
	struct doctor doctor;

	doctor_examine_one(&doctor, "/no/such/place", "/no/such/program");
	for (size_t i = 0; i < doctor.count; i++) {
		assert_true(doctor.lines[i].found[0] != '\0');
		if (doctor.lines[i].status != DOCTOR_OK)
			assert_true(doctor.lines[i].fix[0] != '\0');
	}
}

TEST(a_data_set_must_hold_a_file)
{
	struct doctor doctor;
	char file[64];

	assert_int_equal(status_of("/no/such/place", NULL, "data set"), DOCTOR_BROKEN);
	assert_int_equal(status_of(folder, NULL, "data set"), DOCTOR_BROKEN);
	doctor_examine(&doctor, folder, NULL);
	assert_null(line(&doctor, "O_DIRECT"));
	assert_null(line(&doctor, "residency"));
	assert_null(line(&doctor, "samples"));
	snprintf(file, sizeof(file), "%s/image", folder);
	write_file(file, "JPEG", 4, 0600);
	doctor_examine(&doctor, folder, NULL);
	assert_int_equal(line(&doctor, "data set")->status, DOCTOR_OK);
	assert_int_equal(line(&doctor, "residency")->status, DOCTOR_OK);
	assert_int_equal(line(&doctor, "samples")->status, DOCTOR_LIMITED);
	assert_true(doctor_fit(&doctor));
	unlink(file);
}

TEST(pictures_that_are_none_are_broken)
{
	struct doctor doctor;
	char class[64], file[80];

	snprintf(class, sizeof(class), "%s/class", folder);
	snprintf(file, sizeof(file), "%s/a.jpg", class);
	mkdir(class, 0700);
	write_file(file, "bad", 3, 0600);
	doctor_examine(&doctor, folder, NULL);
	assert_string_equal(
		line(&doctor, "samples")->found,
		"1 of 1 pictures looked at are broken, first class/a.jpg: not a JPEG");
	assert_false(doctor_fit(&doctor));
	unlink(file);
	rmdir(class);
}

TEST(tokens_are_looked_at)
{
	struct doctor doctor;
	char file[64];

	snprintf(file, sizeof(file), "%s/one.u16", folder);
	write_file(file, "abcdefgh", 8, 0600);
	doctor_examine(&doctor, folder, NULL);
	assert_int_equal(line(&doctor, "samples")->status, DOCTOR_OK);
	assert_string_equal(line(&doctor, "samples")->found,
			    "files of tokens, with 3 targets");
	unlink(file);
}

TEST(a_program_must_start)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/program", folder);
	assert_int_equal(status_of(NULL, file, "program"), DOCTOR_BROKEN);
	write_file(file, "#!/bin/sh\n", 10, 0600);
	assert_int_equal(status_of(NULL, file, "program"), DOCTOR_BROKEN);
	chmod(file, 0700);
	assert_int_equal(status_of(NULL, file, "program"), DOCTOR_OK);
	unlink(file);
	assert_int_equal(status_of(NULL, folder, "program"), DOCTOR_BROKEN);
}

TEST(an_interpreter_that_is_missing_is_named)
{
	static const char *const lines[] = {"#!/no/such/python3 -u\n",
					    "#! /usr/bin/env -S A=b no-such-python3\n"};
	struct doctor doctor;
	char file[64];

	snprintf(file, sizeof(file), "%s/script", folder);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		write_file(file, lines[i], strlen(lines[i]), 0700);
		doctor_examine_one(&doctor, NULL, file);
		assert_int_equal(line(&doctor, "program")->status, DOCTOR_BROKEN);
		assert_non_null(strstr(line(&doctor, "program")->found, "python3"));
		unlink(file);
	}
}

/* This program, which needs a library that nobody has. */
TEST(a_library_that_is_missing_is_named)
{
	static char bytes[1 << 23];
	struct doctor doctor;
	char file[64], *at;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes));

	close(fd);
	assert_true(size > 0);
	/* also where the name stands above */
	while ((at = memmem(bytes, (size_t)size, "libcmocka.so.", 13)) != NULL)
		memcpy(at, "libcmocha", 9);
	snprintf(file, sizeof(file), "%s/program", folder);
	write_file(file, bytes, (size_t)size, 0700);
	doctor_examine_one(&doctor, NULL, file);
	assert_int_equal(line(&doctor, "program")->status, DOCTOR_BROKEN);
	assert_non_null(
		strstr(line(&doctor, "program")->found, "started: libcmocha.so."));
	unlink(file);
}

TEST(a_program_without_the_loader_is_told)
{
	char file[64];

	assert_int_equal(status_of(NULL, "true", "program"), DOCTOR_LIMITED);
	snprintf(file, sizeof(file), "%s/program", folder);
	write_file(file, "\177ELF...libdsa.so.1", 19, 0700);
	assert_int_equal(status_of(NULL, file, "program"), DOCTOR_OK);
	unlink(file);
}

TEST(a_program_called_as_python_is_not_started)
{
	char file[64], ran[64], text[128];

	snprintf(file, sizeof(file), "%s/python-train.sh", folder);
	snprintf(ran, sizeof(ran), "%s/ran", folder);
	snprintf(text, sizeof(text), "#!/bin/sh\n: >%s\n", ran);
	write_file(file, text, strlen(text), 0700);
	assert_int_equal(status_of(NULL, file, "program"), DOCTOR_OK);
	assert_int_equal(access(ran, F_OK), -1);
	unlink(file);
}

TEST(a_helper_that_does_not_end_is_killed)
{
	static const char *const slow[] = {"sh", "-c",
					   "echo one; echo two; exec sleep 99", NULL};
	static const char *const quick[] = {"sh", "-c",
					    "echo one; echo two >&2; exit 7", NULL};
	static const char *const none[] = {"/no/such/program", NULL};
	char said[16];

	assert_int_equal(check_ask(slow, .1, "w", said, sizeof(said)), -1);
	assert_int_equal(check_ask(quick, 99, "w", said, sizeof(said)), 7);
	assert_string_equal(said, "two");
	assert_int_equal(check_ask(none, 99, "w", said, sizeof(said)), -1);
	assert_string_equal(said, "");
}

TEST(a_tool_that_is_not_in_the_path_is_missing)
{
	char *path = strdup(getenv("PATH"));

	setenv("PATH", folder, 1);
	assert_int_equal(status_of(NULL, NULL, "gnuplot"), DOCTOR_LIMITED);
	setenv("PATH", path, 1);
	free(path);
}

TEST(a_driver_is_told_as_it_is)
{
	static const struct {
		struct check_driver driver;
		enum doctor_status status;
		const char *found;
	} rows[] = {
		{{.loaded = false}, DOCTOR_OK, "none"},
		{{.library = true, .cuda = 13000}, DOCTOR_OK, "none"},
		{{{"580.65.06", "Fast GPU", 2}, true, true, 13000, false},
		 DOCTOR_OK,
		 "2 x Fast GPU, driver 580.65.06, CUDA 13.0"},
		{{{"470.1", "Old GPU", 1}, true, true, 11040, false},
		 DOCTOR_LIMITED,
		 "driver 470.1 has CUDA 11.4: too old to be watched"},
		{{{"580.65.06", "Fast GPU", 1}, true, false, 0, false},
		 DOCTOR_LIMITED,
		 "driver 580.65.06 is loaded, but there is no libcuda.so.1"},
		{{{"580.65.06", "", 0}, true, true, 13000, false},
		 DOCTOR_LIMITED,
		 "driver 580.65.06 is loaded, but it has no GPU here"},
		{{{"", "", 0}, true, true, 12040, false},
		 DOCTOR_OK,
		 "by the driver of Windows, CUDA 12.4"},
		{{{"", "", 0}, true, true, 12040, true},
		 DOCTOR_OK,
		 "by the driver of /dev/nvidiactl, CUDA 12.4; /proc/driver/nvidia is "
		 "hidden here"},
		{{{"", "", 0}, true, false, 0, true},
		 DOCTOR_LIMITED,
		 "driver of /dev/nvidiactl is loaded, but there is no libcuda.so.1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct doctor_line told = {.name = "gpu"};

		check_gpu_driver(&told, &rows[i].driver);
		assert_int_equal(told.status, rows[i].status);
		assert_string_equal(told.found, rows[i].found);
		assert_int_equal(told.fix[0] == '\0', told.status == DOCTOR_OK);
	}
}

TEST(a_cupti_is_no_newer_than_the_driver)
{
	assert_true(check_cupti_fits("libcupti.so.13", 13000));
	assert_true(check_cupti_fits("/usr/local/cuda/lib64/libcupti.so.12", 13000));
	assert_true(check_cupti_fits("libcupti.so.11.8", 12040));
	assert_true(check_cupti_fits("/their/cupti", 12040));
	assert_true(check_cupti_fits("/opt/cuda/lib64/libcupti.so.2024.3.2", 12040));
	assert_false(check_cupti_fits("/opt/cuda/lib64/libcupti.so.13", 12080));
}

TEST(a_limit_of_locked_memory_is_seen)
{
	struct rlimit limit, less;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	less = limit;
	less.rlim_cur = 4096;
	setrlimit(RLIMIT_MEMLOCK, &less);
	assert_int_equal(status_of(NULL, NULL, "locked memory"), DOCTOR_LIMITED);
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

TEST(a_narrow_affinity_is_seen)
{
	cpu_set_t all, one;
	int first = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		skip();
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(status_of(NULL, NULL, "cores"), DOCTOR_LIMITED);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST(who_is_busy_is_told)
{
	const char *found;
	struct doctor doctor;

	doctor_examine(&doctor, NULL, NULL);
	found = line(&doctor, "other programs")->found;
	assert_true(strstr(found, "% of the CPU now (load ") != NULL ||
		    strstr(found, "not known") != NULL);
}

TEST(a_name_stays_on_one_line)
{
	struct doctor doctor;

	doctor_examine_one(&doctor, "no\nsuch\nplace", "no\033[31mprogram");
	assert_null(strchr(line(&doctor, "data set")->found, '\n'));
	assert_null(strchr(line(&doctor, "program")->found, '\033'));
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

TEST_GROUP(make_folder, remove_folder);
