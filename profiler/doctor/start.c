/* start.c - whether all is there that a program is started with: its dynamic loader and
 * libraries, or its interpreter. */
#include "profiler/doctor/check.h"

#include "loader/base/clock.h"
#include "loader/base/name.h"
#include "profiler/program_file.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 80, WORDS = 8 /* of a helper, NULL among them */ };

/* ---- helpers ---- */

/* Both of its outputs go to a file. 0: it can't be started. */
static pid_t start_helper(const char *const words[], int to)
{
	posix_spawn_file_actions_t files;
	char *arguments[WORDS] = {NULL};
	pid_t child;
	int result;

	for (size_t i = 0; i < WORDS - 1 && words[i] != NULL; i++)
		memcpy(&arguments[i], &words[i],
		       sizeof(words[i])); /* exec writes none */
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
					 0);
	posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, to, STDERR_FILENO);
	result = posix_spawnp(&child, words[0], &files, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&files);
	return result == 0 ? child : 0;
}

/* Its exit status; -1: it has none, and has ended all the same. */
static int start_await(pid_t child, double seconds)
{
	uint64_t began = clock_now();
	int status;
	pid_t ended;

	while ((ended = waitpid(child, &status, WNOHANG)) == 0 &&
	       clock_since(began) < seconds)
		clock_sleep_until(clock_now() + 2000000);
	if (ended == 0) {
		kill(child, SIGKILL);
		ended = waitpid(child, &status, 0);
	}
	return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int check_ask(const char *const words[], double seconds, const char *wanted, char *line,
	      size_t room)
{
	int fd = memfd_create("dsa-doctor", MFD_CLOEXEC), status = -1;
	FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
	pid_t child = from == NULL ? 0 : start_helper(words, fd);
	char *said = NULL;
	size_t size = 0;

	line[0] = '\0';
	if (child > 0)
		status = start_await(child, seconds);
	if (from != NULL)
		rewind(from); /* the helper wrote through the same offset */
	while (from != NULL && line[0] == '\0' && getline(&said, &size, from) >= 0)
		if (strstr(said, wanted) != NULL)
			snprintf(line, room, "%.*s", (int)strcspn(said, "\n"), said);
	free(said);
	if (from != NULL)
		fclose(from);
	return status;
}

/* ---- programs of the machine ---- */

/* The dynamic loader lists what it would load, and starts nothing. glibc's says
 * "PROGRAM: error while loading shared libraries: LIBRARY: why", musl's "Error loading
 * shared library LIBRARY: why". */
static bool start_check_libraries(struct doctor_line *line, const char *loader,
				  const char *path, const char *name)
{
	const char *const words[] = {loader, "--list", path, NULL};
	char said[512], why[120], *at;

	(void)check_ask(words, CHECK_PATIENCE_S, "shared librar", said, sizeof(said));
	if (said[0] == '\0')
		return true;
	at = strstr(said, "librar");
	at += strcspn(at, " ");
	at += strspn(at, " ");
	check_report(
		line, DOCTOR_BROKEN,
		strncmp(at, "libdsa.so.", strlen("libdsa.so.")) == 0
			? "export LD_LIBRARY_PATH=PREFIX/lib of `make install "
			  "PREFIX=...`; below /usr or /usr/local: ldconfig, as root"
			: "install it, or name its folder in LD_LIBRARY_PATH",
		"'%.40s' can't be started: %s", name,
		name_escape(at, why, sizeof(why)));
	return false;
}

static bool start_check_loader(struct doctor_line *line, const char *loader,
			       const char *name)
{
	char missing[NAME];

	if (access(loader, X_OK) == 0)
		return true;
	check_report(line, DOCTOR_BROKEN,
		     "install the C library that it was built for, or build it here",
		     "'%s' can't be started: there is no %s", name,
		     name_escape(loader, missing, sizeof(missing)));
	return false;
}

/* ---- scripts ---- */

static bool start_check_interpreter(struct doctor_line *line, const char *interpreter,
				    const char *name)
{
	char found[4096], missing[NAME];

	if (program_file_find(interpreter, found, sizeof(found)))
		return true;
	name_escape(interpreter, missing, sizeof(missing));
	check_report(line, DOCTOR_BROKEN,
		     "install it, or correct the first line of the script",
		     "'%s' can't be started: there is no %s", name, missing);
	return false;
}

bool check_start(struct doctor_line *line, const char *path, const char *name)
{
	char needs[512];

	if (program_file_script(path, needs, sizeof(needs))) {
		needs[strcspn(needs, " ")] = '\0';
		return start_check_interpreter(line, needs, name);
	}
	return !program_file_loader(path, needs, sizeof(needs)) ||
	       (start_check_loader(line, needs, name) &&
		start_check_libraries(line, needs, path, name));
}
