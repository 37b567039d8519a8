/* program.c - finds a program as a shell does, whether it can be started, and whether
 * it uses libdsa. */
#include "profiler/doctor/check.h"

#include "loader/base/name.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool program_executable(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && S_ISREG(found.st_mode) &&
	       access(path, X_OK) == 0;
}

bool check_find_program(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/') != NULL) {
		snprintf(path, size, "%s", name);
		return program_executable(path);
	}
	while (at != NULL && *at != '\0') {
		size_t length = strcspn(at, ":");

		if (snprintf(path, size, "%.*s/%s", (int)length, at, name) <
			    (int)size &&
		    program_executable(path))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

enum kind { UNREADABLE, SCRIPT, USES_DSA, USES_NO_DSA };

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

/* "python3.11"; not "python-train.sh", which must not be started. */
static bool program_is_python(const char *path)
{
	const char *slash = strrchr(path, '/'),
		   *name = slash != NULL ? slash + 1 : path;
	size_t length = strlen("python");

	return strncmp(name, "python", length) == 0 &&
	       name[length + strspn(name + length, "0123456789.")] == '\0';
}

/* Of `python3 -u train.py`; NULL: it runs a module, or a text, or what it is told. */
static const char *program_script_of(char *const *words)
{
	for (words++; *words != NULL && (*words)[0] == '-'; words++)
		if (strpbrk(*words, "cm") != NULL)
			return NULL;
	return *words;
}

/* A script may extend the path in which Python seeks modules itself. */
static void program_check_python(struct doctor_line *line, const char *python,
				 const char *script)
{
	const char *const words[] = {python, "-B", "-c", "import dsa; dsa._library()",
				     NULL};
	enum kind kind = script != NULL ? read_kind(script) : USES_DSA;
	char name[NAME_SHOWN], fix[192], said[120], shown[100];

	if (kind == USES_NO_DSA || kind == SCRIPT) {
		check_report(line, DOCTOR_LIMITED, USE_DSA,
			     "'%s' does not import dsa; what it imports may",
			     name_escape(script, name, sizeof(name)));
		return;
	}
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

void check_program(struct doctor_line *line, const struct check_subject *subject)
{
	char *const *words = subject->program;
	char path[PATH_MAX], real[PATH_MAX], name[NAME_SHOWN], python[512];

	name_escape(words[0], name, sizeof(name));
	if (!check_find_program(words[0], path, sizeof(path)))
		check_report(line, DOCTOR_BROKEN,
			     "give its path, or make it executable: chmod +x",
			     "'%s' is no program that can be started", name);
	else if (!check_start(line, realpath(path, real) != NULL ? real : path, name))
		return; /* the kernel follows links, too: $ORIGIN is where they end */
	else if (program_is_python(path))
		program_check_python(line, words[0], program_script_of(words));
	else if (check_find_interpreter(path, python, sizeof(python)) &&
		 program_is_python(python))
		program_check_python(line, python, path);
	else
		program_report(line, read_kind(path), name);
}
