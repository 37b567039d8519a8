/* process.c - reads /proc by system calls alone. */
#include "loader/base/host/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = sizeof("/proc/4294967295/stat") };

/* Puts text in front of `at`; returns where it begins. */
static char *process_prepend(char *at, const char *text)
{
	size_t length = strlen(text);

	return memcpy(at - length, text, length);
}

/* Writes the path of /proc/PID/stat to the end of `room`; returns where it begins. */
static const char *process_path(char room[PATH_BYTES], uint32_t pid)
{
	char *at = &room[PATH_BYTES - 1];

	*at = '\0';
	at = process_prepend(at, "/stat");
	do {
		*--at = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid > 0);
	return process_prepend(at, "/proc/");
}

/* Reads the head of /proc/PID/stat, and ends it with 0; "" where there is none. Returns
 * its length. */
static size_t process_stat(uint32_t pid, char *line, size_t size)
{
	char room[PATH_BYTES];
	int fd = open(process_path(room, pid), O_RDONLY | O_CLOEXEC);
	ssize_t length = 0;

	if (fd >= 0) {
		length = read(fd, line, size - 1);
		close(fd);
	}
	if (length < 0)
		length = 0;
	line[length] = '\0';
	return (size_t)length;
}

/* The number after so many spaces; 0: there is none. */
static uint64_t process_field(const char *text, unsigned spaces)
{
	for (; spaces > 0 && *text != '\0'; text++)
		spaces -= *text == ' ';
	return strtoull(text, NULL, 10);
}

uint64_t process_start(uint32_t pid, size_t *bytes)
{
	char line[1024];
	size_t length = process_stat(pid, line, sizeof(line));
	const char *fields;

	if (bytes != NULL)
		*bytes = length;
	fields = strrchr(line, ')'); /* the command's name may hold anything */
	if (fields == NULL || fields[1] == '\0' || fields[2] == 'Z' || fields[2] == 'X')
		return 0;
	return process_field(fields, 20); /* field 22 of all */
}

uint32_t process_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 ? (uint32_t)status.st_ino : 0;
}
