/* program.c - finds a program as a shell does, and whether it uses libdsa. */
#include "profiler/doctor/check.h"

#include "loader/base/name.h"

#include <fcntl.h>
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

/* The loader looks for DSA_SESSION itself; a program linked to it names it. */
static enum kind program_kind_of(const char *bytes, size_t size)
{
	static const char soname[] = "libdsa.so.", inside[] = "DSA_SESSION";

	if (size > 2 && memcmp(bytes, "#!", 2) == 0)
		return SCRIPT;
	return memmem(bytes, size, soname, sizeof(soname) - 1) != NULL ||
			       memmem(bytes, size, inside, sizeof(inside) - 1) != NULL
		       ? USES_DSA
		       : USES_NO_DSA;
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

void check_program(struct doctor_line *line, const struct check_subject *subject)
{
	char path[4096], name[NAME_SHOWN];

	name_escape(subject->program, name, sizeof(name));
	if (!check_find_program(subject->program, path, sizeof(path))) {
		check_report(line, DOCTOR_BROKEN,
			     "give its path, or make it executable: chmod +x",
			     "'%s' is no program that can be started", name);
		return;
	}
	switch (read_kind(path)) {
	case USES_DSA:
		check_report(line, DOCTOR_OK, NULL, "'%s' uses libdsa", name);
		break;
	case USES_NO_DSA:
		check_report(
			line, DOCTOR_LIMITED,
			"load its data with <dsa/loader.h>, or start one that does",
			"'%s' itself does not use libdsa; what it starts may", name);
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
