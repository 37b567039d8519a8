/* What keeps a program from being seen by the preload, or by the hook in Python. */
#include "profiler/preload.h"
#include "tests/lib/test.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/dsa-hidden-XXXXXX", file[64];

static void write_program(const void *bytes, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Of a command of up to 7 words: "python3 -X dev train.py". */
static bool python_of(const char *command, struct preload_python *python)
{
	char *text = strdup(command), *rest = text, *words[8] = {NULL};
	bool found;

	for (size_t i = 0; i < 7 && rest != NULL; i++)
		words[i] = strsep(&rest, " ");
	found = preload_find_python(words, python);
	if (python->module != NULL)
		python->module = strstr(command, python->module);
	free(text);
	return found;
}

TEST(options_of_python_are_told_from_what_it_runs)
{
	static const struct {
		const char *command;
		char blind;
		const char *script, *module;
	} cases[] = {
		{"python3 train.py -I", 0, "train.py", NULL},
		{"/usr/bin/python3.11 -u -I train.py", 'I', "train.py", NULL},
		{"python -uE train.py", 'E', "train.py", NULL},
		{"python3 -X dev -Wignore -S train.py -c x", 'S', "train.py", NULL},
		{"python3 -W ignore train.py", 0, "train.py", NULL},
		{"python3 --check-hash-based-pycs=always train.py", 0, "train.py",
		 NULL},
		{"python3 -um torch.distributed.run -I", 0, "",
		 "torch.distributed.run"},
		{"python3 -mtimm -I", 0, "", "timm"},
		{"python3 -c pass -I", 0, "", NULL},
		{"python3 - -I", 0, "", NULL},
		{"python3", 0, "", NULL},
		{"python3 -X", 0, "", NULL},
	};
	struct preload_python python;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(python_of(cases[i].command, &python));
		assert_int_equal(python.blind, cases[i].blind);
		assert_string_equal(python.script, cases[i].script);
		if (cases[i].module == NULL)
			assert_null(python.module);
		else
			assert_memory_equal(python.module, cases[i].module,
					    strlen(cases[i].module));
	}
	assert_false(python_of("python-train.sh -I", &python));
	assert_false(python_of("sh -c python3", &python));
}

TEST(a_script_names_its_python)
{
	static const char *const lines[] = {"#!/usr/bin/python3 -I\nimport torch\n",
					    "#! /usr/bin/env -S A=b python3 -I\n"};
	static const char *const called[] = {"/usr/bin/python3", "python3"};
	char *const words[] = {file, NULL};
	struct preload_python python;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		write_program(lines[i], strlen(lines[i]));
		assert_true(preload_find_python(words, &python));
		assert_string_equal(python.interpreter, called[i]);
		assert_string_equal(python.script, file);
		assert_int_equal(python.blind, 'I');
	}
	write_program("#!/bin/sh\n", 10);
	assert_false(preload_find_python(words, &python));
	write_program("#!\n", 3);
	assert_false(preload_find_python(words, &python));
	unlink(file);
}

/* Whether a copy of this program is hidden, by a reason with that word, once `change` has
 * been at its bytes. */
static bool is_hidden_by(void (*change)(char *bytes, size_t size), const char *word)
{
	static char bytes[1 << 23];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	char *const words[] = {file, NULL};
	struct preload_hidden hidden;
	bool found;

	close(fd);
	assert_true(size > 0);
	if (change != NULL)
		change(bytes, (size_t)size);
	write_program(bytes, (size_t)size);
	found = preload_is_hidden(words, &hidden) && strstr(hidden.why, word) != NULL &&
		hidden.fix[0] != '\0';
	unlink(file);
	return found;
}

static void change_loader(char *bytes, size_t size)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)bytes;

	(void)size;
	head->e_phnum = 0; /* no part names one */
}

static void change_machine(char *bytes, size_t size)
{
	(void)size;
	((Elf64_Ehdr *)bytes)->e_machine = EM_NONE;
}

static void change_library(char *bytes, size_t size)
{
	char *at = memmem(bytes, size, "/ld-linux", 9);

	assert_non_null(at);
	memcpy(at, "/ld-musl-", 9);
}

TEST(what_is_not_preloaded_is_named)
{
	assert_false(is_hidden_by(NULL, ""));
	assert_true(is_hidden_by(change_loader, "statically"));
	assert_true(is_hidden_by(change_machine, "machine"));
	assert_true(is_hidden_by(change_library, "musl"));
}

TEST(a_command_is_hidden_by_its_options)
{
	char python[] = "/usr/bin/python3", option[] = "-E", script[] = "train.py";
	char *const hides[] = {python, option, script, NULL};
	char *const shows[] = {python, script, NULL};
	struct preload_hidden hidden;

	assert_true(preload_is_hidden(hides, &hidden));
	assert_string_equal(hidden.fix, "leave out -E");
	assert_false(preload_is_hidden(shows, &hidden));
}

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/program", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

TEST_GROUP(make_folder, remove_folder);
