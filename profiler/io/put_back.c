/* put_back.c - writes lines for a shell. */
#include "profiler/io/put_back.h"
#include "profiler/io/raw.h"

#include <limits.h>
#include <string.h>

/* The program may have removed the folder. What was renamed and got its name back is there:
 * mv refuses to move a file to itself. A link to a folder is replaced, too. */
#define MOVE                                                                           \
	"; mkdir -p -- \"${path%/*}/\" && "                                            \
	"if [ \"$(stat -c %d:%i \"$kept\" 2>&1)\" = "                                  \
	"\"$(stat -c %d:%i \"$path\" 2>&1)\" ]; then rm -f -- \"$kept\"; "             \
	"else mv -fT -- \"$kept\" \"$path\"; fi\n"

/* A line with two paths: of each byte there may be four. */
struct put_back {
	char text[8 * PATH_MAX + sizeof(MOVE) + 64];
	size_t length;
};

static void put_back_plain(struct put_back *line, const char *text)
{
	size_t length = strlen(text);

	memcpy(line->text + line->length, text, length);
	line->length += length;
}

/* As one word. */
static void put_back_word(struct put_back *line, const char *path)
{
	put_back_plain(line, "'");
	for (; *path != '\0'; path++) {
		if (*path == '\'')
			put_back_plain(line, "'\\'");
		line->text[line->length++] = *path;
	}
	put_back_plain(line, "'");
}

/* Behind a path: a dot, and the number by which it is kept. */
static void put_back_number(struct put_back *line, const char *kept)
{
	put_back_plain(line, ".");
	put_back_plain(line, strrchr(kept, '/') + 1);
}

/* Whole, or not at all: a part of a line would take the next one with it. */
static bool put_back_write(int fd, const char *text, size_t length)
{
	long done = syscall(SYS_write, fd, text, length);

	if (done > 0 && (size_t)done < length)
		syscall(SYS_ftruncate, fd, raw_position(fd) - done);
	return done == (long)length;
}

/* The first one writes what it is, too. */
static int put_back_open(const char *folder, struct put_back *path)
{
	static const char about[] = "#!/bin/sh\n# Puts back what the program overwrote "
				    "or removed while dsa measured it.\n";
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, fd;

	path->length = 0;
	put_back_plain(path, folder);
	put_back_plain(path, "/put-back");
	path->text[path->length] = '\0';
	fd = (int)syscall(SYS_openat, AT_FDCWD, path->text, flags | O_EXCL, 0700);
	if (fd < 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path->text, flags, 0700);
	put_back_write(fd, about, sizeof(about) - 1);
	return fd;
}

static bool put_back_line(int fd, struct put_back *line, const char *kept,
			  const char *path, bool again)
{
	line->length = 0;
	put_back_plain(line, "kept=");
	put_back_word(line, kept);
	put_back_plain(line, " path=");
	put_back_word(line, path);
	if (again)
		put_back_number(line, kept);
	put_back_plain(line, MOVE);
	/* at once, so that those of several processes do not mix */
	return put_back_write(fd, line->text, line->length);
}

bool put_back_add(const char *folder, const char *kept, const char *path, bool again)
{
	struct put_back *line = raw_memory(sizeof(*line));
	int fd = line == NULL ? -1 : put_back_open(folder, line);
	bool whole = fd >= 0 && put_back_line(fd, line, kept, path, again);

	raw_close(fd);
	raw_unmap(line, sizeof(*line));
	return whole;
}
