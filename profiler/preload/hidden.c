/* hidden.c - what keeps a program from being seen: its options, or how it was linked. */
#include "profiler/preload.h"
#include "profiler/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { WORDS = 32 /* of a script's first line */ };

/* ---- Python ---- */

/* "python3.11"; not "python-train.sh". */
static bool hidden_is_python(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t length = strlen("python");

	return strncmp(name, "python", length) == 0 &&
	       name[length + strspn(name + length, "0123456789.")] == '\0';
}

/* The letters of one word of options. Returns how many words more it takes; -1: it was the
 * last of them. */
static int hidden_read_letters(const char *letters, struct preload_python *python)
{
	for (; *letters != '\0'; letters++) {
		if (strchr("ISE", *letters) != NULL)
			python->blind = *letters;
		else if (strchr("XW", *letters) != NULL)
			return letters[1] == '\0';
		else if (*letters == 'm')
			python->module = letters + 1;
		if (strchr("cm", *letters) != NULL)
			return -1;
	}
	return 0;
}

/* `words` follow the interpreter: its options, then what it runs. */
static void hidden_read_options(char *const *words, struct preload_python *python)
{
	int more = 0;

	while (*words != NULL && (*words)[0] == '-' && (*words)[1] != '\0') {
		if ((*words)[1] != '-')
			more = hidden_read_letters(*words + 1, python);
		words++;
		for (; more > 0 && *words != NULL; more--)
			words++;
		if (more < 0)
			break;
	}
	if (more == 0 && *words != NULL && strcmp(*words, "-") != 0)
		snprintf(python->script, sizeof(python->script), "%s", *words);
	else if (python->module != NULL && *python->module == '\0')
		python->module = *words;
}

static bool hidden_read_script(const char *path, struct preload_python *python)
{
	char line[sizeof(python->interpreter)], *rest = line, *words[WORDS] = {NULL};
	size_t count = 0;

	if (!program_file_script(path, line, sizeof(line)))
		return false;
	while (count < WORDS - 1 && (words[count] = strsep(&rest, " ")) != NULL)
		count++;
	if (count == 0 || !hidden_is_python(words[0]))
		return false;
	snprintf(python->interpreter, sizeof(python->interpreter), "%s", words[0]);
	hidden_read_options(words + 1, python);
	return true;
}

bool preload_find_python(char *const *command, struct preload_python *python)
{
	char path[PATH_MAX];

	*python = (struct preload_python){.blind = 0};
	if (hidden_is_python(command[0])) {
		snprintf(python->interpreter, sizeof(python->interpreter), "%s",
			 command[0]);
		hidden_read_options(command + 1, python);
		return true;
	}
	if (!program_file_find(command[0], path, sizeof(path)) ||
	    !hidden_read_script(path, python))
		return false;
	snprintf(python->script, sizeof(python->script), "%s", path);
	python->module = NULL;
	return true;
}

/* ---- what the kernel starts ---- */

/* The dynamic loader obeys no LD_PRELOAD of a path then (AT_SECURE). */
static bool hidden_has_privileges(const char *path)
{
	struct stat found;

	if (geteuid() == 0 || stat(path, &found) < 0)
		return false;
	return ((found.st_mode & S_ISUID) != 0 && found.st_uid != geteuid()) ||
	       ((found.st_mode & S_ISGID) != 0 && found.st_gid != getegid()) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool hidden_read_head(const char *path, Elf64_Ehdr *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool whole = fd >= 0 && read(fd, head, sizeof(*head)) == sizeof(*head);

	if (fd >= 0)
		close(fd);
	return whole && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

static bool hidden_set(struct preload_hidden *hidden, const char *why, const char *fix)
{
	snprintf(hidden->why, sizeof(hidden->why), "%s", why);
	snprintf(hidden->fix, sizeof(hidden->fix), "%s", fix);
	return true;
}

static bool hidden_by_file(const char *path, struct preload_hidden *hidden)
{
	char loader[PATH_MAX];
	Elf64_Ehdr head, own;

	if (hidden_has_privileges(path))
		return hidden_set(
			hidden,
			"it is set-user-ID, or has capabilities: LD_PRELOAD is not "
			"obeyed",
			"measure a copy of it: cp keeps no such rights");
	if (!hidden_read_head(path, &head) || !hidden_read_head("/proc/self/exe", &own))
		return false; /* it may be started and not read */
	if (head.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
	    head.e_machine != own.e_machine)
		return hidden_set(
			hidden,
			"it is built for another machine than dsa, whose "
			"library does not fit",
			"build dsa for that machine, or the program for this");
	if (!program_file_loader(path, loader, sizeof(loader)))
		return hidden_set(hidden,
				  "it is linked statically: LD_PRELOAD is not obeyed",
				  "link it dynamically");
	if (strstr(loader, "musl") != NULL)
		return hidden_set(hidden,
				  "it has musl's C library: libdsa-io.so needs glibc",
				  "build dsa where the program was built");
	return false;
}

/* The file that the kernel runs at last: a script's interpreter. False: there is none. */
static bool hidden_find(const char *name, char path[PATH_MAX])
{
	char words[512], found[PATH_MAX];

	if (!program_file_find(name, found, sizeof(found)))
		return false;
	if (program_file_script(found, words, sizeof(words))) {
		words[strcspn(words, " ")] = '\0';
		if (!program_file_find(words, found, sizeof(found)))
			return false;
	}
	return realpath(found, path) != NULL;
}

bool preload_is_hidden(char *const *command, struct preload_hidden *hidden)
{
	struct preload_python python;
	char path[PATH_MAX];

	*hidden = (struct preload_hidden){.why = ""};
	if (hidden_find(command[0], path) && hidden_by_file(path, hidden))
		return true;
	if (!preload_find_python(command, &python) || python.blind == 0)
		return false;
	snprintf(hidden->why, sizeof(hidden->why),
		 "python was started with -%c: it never looks for the hook",
		 python.blind);
	snprintf(hidden->fix, sizeof(hidden->fix), "leave out -%c", python.blind);
	return true;
}
