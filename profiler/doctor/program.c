/* program.c - finds a program as a shell does, whether it can be started, and whether
 * it uses libdsa. */
#include "profiler/doctor/check.h"

#include "loader/base/name.h"
#include "profiler/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { UNREADABLE, SCRIPT, USES_DSA, USES_TORCH, USES_TENSORFLOW, USES_NO_DSA };

#define USE_DSA                                                                        \
	"load its data with dsa.Loader in Python (dsa_python(3)), or libdsa in C "     \
	"(dsa_loader(3))"

static bool program_has(const char *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

/* The loader looks for DSA_SESSION itself; a program linked to it names it. */
static enum kind program_kind_of(const char *bytes, size_t size)
{
	if (program_has(bytes, size, "libdsa.so.") ||
	    program_has(bytes, size, "DSA_SESSION") ||
	    program_has(bytes, size, "import dsa") ||
	    program_has(bytes, size, "from dsa import"))
		return USES_DSA;
	if (program_has(bytes, size, "import torch") ||
	    program_has(bytes, size, "from torch"))
		return USES_TORCH;
	if (program_has(bytes, size, "import tensorflow") ||
	    program_has(bytes, size, "from tensorflow"))
		return USES_TENSORFLOW;
	return size > 2 && memcmp(bytes, "#!", 2) == 0 ? SCRIPT : USES_NO_DSA;
}

static enum kind read_kind(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum kind kind = UNREADABLE;
	struct stat found;

	if (fd < 0)
		return UNREADABLE;
	if (fstat(fd, &found) == 0 && found.st_size > 0) {
		size_t size = (size_t)found.st_size;
		void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (bytes != MAP_FAILED) {
			kind = program_kind_of(bytes, size);
			munmap(bytes, size);
		}
	}
	close(fd);
	return kind;
}

static void program_report(struct doctor_line *line, enum kind kind, const char *name)
{
	switch (kind) {
	case USES_DSA:
		check_report(line, DOCTOR_OK, NULL, "'%s' uses libdsa", name);
		break;
	case USES_TORCH:
	case USES_TENSORFLOW:
	case USES_NO_DSA:
		check_report(line, DOCTOR_LIMITED, USE_DSA,
			     "'%s' itself does not use libdsa; what it starts may",
			     name);
		break;
	case SCRIPT:
		check_report(line, DOCTOR_OK, NULL,
			     "'%s' is a script; what it starts must use libdsa", name);
		break;
	case UNREADABLE:
		check_report(line, DOCTOR_LIMITED, NULL,
			     "'%s' can be started but not read: it may use libdsa",
			     name);
		break;
	}
}

/* ---- Python ---- */

bool check_uses_dsa(const struct check_subject *subject)
{
	return subject->is_python && read_kind(subject->python.script) == USES_DSA;
}

/* A script may extend the path in which Python seeks modules itself. */
static void program_find_module(struct doctor_line *line, const char *python)
{
	const char *const words[] = {python, "-B", "-c", "import dsa; dsa._library()",
				     NULL};
	char name[NAME_SHOWN], fix[192], said[120], shown[100];

	name_escape(python, name, 60);
	snprintf(fix, sizeof(fix),
		 "make install PYTHON=%s, or name the folder of dsa.py in PYTHONPATH",
		 name);
	if (check_ask(words, CHECK_PATIENCE_S, "Error", said, sizeof(said)) == 0)
		check_report(line, DOCTOR_OK, NULL, "%s finds dsa.Loader", name);
	else
		check_report(line, DOCTOR_LIMITED, fix, "%s finds no dsa.Loader: %s",
			     name,
			     said[0] == '\0' ? "it does not answer"
			     : strstr(said, "No module named") != NULL
				     ? "no module dsa"
				     : name_escape(said, shown, sizeof(shown)));
}

static void program_check_python(struct doctor_line *line,
				 const struct preload_python *python)
{
	enum kind kind = read_kind(python->script);
	char name[NAME_SHOWN];

	bool there = python->script[0] == '\0' || access(python->script, R_OK) == 0;
	int code = errno;

	name_escape(kind == UNREADABLE && there ? python->interpreter : python->script,
		    name, sizeof(name));
	if (!there)
		check_report(line, DOCTOR_BROKEN, "name the script that is to run",
			     "cannot read '%s': %s", name, strerror(code));
	else if (kind == USES_DSA)
		program_find_module(line, python->interpreter);
	else if (kind == USES_TORCH)
		check_report(line, DOCTOR_OK, NULL,
			     "'%s' imports torch: its own loader is measured", name);
	else if (kind == USES_TENSORFLOW)
		check_report(line, DOCTOR_LIMITED,
			     "dsa.watch(dataset) around what its loop iterates over "
			     "(dsa_python(3))",
			     "'%s' imports tensorflow, whose loaders are not measured "
			     "yet",
			     name);
	else if (kind == UNREADABLE)
		check_report(line, DOCTOR_OK, NULL,
			     "what '%s' runs is not known: torch's DataLoader and "
			     "dsa.Loader are measured",
			     name);
	else
		check_report(line, DOCTOR_LIMITED, USE_DSA ", or PyTorch's DataLoader",
			     "'%s' does not import torch or dsa; what it imports may",
			     name);
}

void check_program(struct doctor_line *line, const struct check_subject *subject)
{
	char *const *words = subject->program;
	char path[PATH_MAX], real[PATH_MAX], name[NAME_SHOWN];

	name_escape(words[0], name, sizeof(name));
	if (!program_file_find(words[0], path, sizeof(path)))
		check_report(line, DOCTOR_BROKEN,
			     "give its path, or make it executable: chmod +x",
			     "'%s' is no program that can be started", name);
	else if (!check_start(line, realpath(path, real) != NULL ? real : path, name))
		return; /* the kernel follows links, too: $ORIGIN is where they end */
	else if (subject->is_python)
		program_check_python(line, &subject->python);
	else
		program_report(line, read_kind(path), name);
}
