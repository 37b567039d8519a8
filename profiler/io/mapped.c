/* mapped.c - reads /proc/self/maps and smaps, in pieces. */
#include "profiler/io/mapped.h"
#include "profiler/io/base/coverage.h"
#include "profiler/io/base/data_path.h"
#include "profiler/io/base/raw.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mapped_own[3]; /* inodes of dsa's files */

void mapped_ignore(const char *path)
{
	struct stat status;

	if (path == NULL || stat(path, &status) < 0)
		return;
	mapped_own[2] = mapped_own[1];
	mapped_own[1] = mapped_own[0];
	mapped_own[0] = status.st_ino;
}

/* ---- lines ---- */

struct mapped_text {
	int fd;
	size_t at, have;
	char bytes[2 * PATH_MAX];
};

static bool mapped_open(struct mapped_text *text, const char *path)
{
	text->at = text->have = 0;
	text->fd = raw_open(path, O_RDONLY);
	return text->fd >= 0;
}

/* Keeps the line that is not whole yet. */
static bool mapped_more(struct mapped_text *text)
{
	size_t left = text->have - text->at;
	long got;

	memmove(text->bytes, text->bytes + text->at, left);
	text->at = 0;
	text->have = left < sizeof(text->bytes) ? left : 0; /* no line is that long */
	got = syscall(SYS_read, text->fd, text->bytes + text->have,
		      sizeof(text->bytes) - text->have);
	if (got <= 0)
		return false;
	coverage_own((uint64_t)got);
	text->have += (size_t)got;
	return true;
}

/* The next line, which ends with 0; NULL: there is none. */
static const char *mapped_line(struct mapped_text *text)
{
	char *line, *end;

	do {
		line = text->bytes + text->at;
		end = memchr(line, '\n', text->have - text->at);
	} while (end == NULL && mapped_more(text));
	if (end == NULL)
		return NULL;
	*end = '\0';
	text->at = (size_t)(end - text->bytes) + 1;
	return line;
}

/* ---- mappings ---- */

/* What comes with the system maps tables of its own: languages, time zones. */
static bool mapped_system(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/etc/", "/var/",
					      "/dev/"};
	char program[PATH_MAX] = "";

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program,
		sizeof(program) - 1);
	return strcmp(path, program) == 0;
}

/* The first line of a mapping begins with its address, those about it with a name. */
static bool mapped_begins(const char *line)
{
	return line[0] < 'A' || line[0] > 'Z';
}

/* address permissions offset device inode path */
static uint64_t mapped_inode(const char *line)
{
	for (unsigned spaces = 4; spaces > 0 && *line != '\0'; line++)
		spaces -= *line == ' ';
	return strtoull(line, NULL, 10);
}

static bool mapped_is_data(const char *line)
{
	const char *path = strchr(line, '/');

	return path != NULL && data_path(path) && !mapped_system(path) &&
	       mapped_inode(line) != mapped_own[0] &&
	       mapped_inode(line) != mapped_own[1] &&
	       mapped_inode(line) != mapped_own[2];
}

static bool mapped_is_ring(const char *line)
{
	const char *path = strchr(line, '/');

	return strstr(line, " anon_inode:[io_uring]") != NULL ||
	       (path != NULL && strncmp(path, "/[aio]", 6) == 0);
}

static bool mapped_find(bool (*is)(const char *line))
{
	struct mapped_text text;
	const char *line;
	bool found = false;

	if (!mapped_open(&text, "/proc/self/maps"))
		return false;
	while (!found && (line = mapped_line(&text)) != NULL)
		found = is(line);
	raw_close(text.fd);
	return found;
}

bool mapped_any(void)
{
	return mapped_find(mapped_is_data);
}

bool mapped_rings(void)
{
	return mapped_find(mapped_is_ring);
}

uint64_t mapped_touched(void)
{
	struct mapped_text text;
	uint64_t sum = 0;
	const char *line;
	bool data = false;

	if (!mapped_open(&text, "/proc/self/smaps"))
		return 0;
	while ((line = mapped_line(&text)) != NULL) {
		if (mapped_begins(line))
			data = mapped_is_data(line);
		else if (data && strncmp(line, "Rss:", 4) == 0)
			sum += strtoull(line + 4, NULL, 10) * 1024;
	}
	raw_close(text.fd);
	return sum;
}
