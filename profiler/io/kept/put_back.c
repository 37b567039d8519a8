/* put_back.c - writes lines for a shell. */
#include "profiler/io/kept/put_back.h"
#include "profiler/io/base/raw.h"

#include <limits.h>
#include <string.h>

/* The program may have removed the folder. What was renamed and got its name back is there:
 * mv refuses to move a file to itself. What has a name more than it had, as it was renamed,
 * becomes a file of its own: who writes to one of the two later shall not change the other.
 * A link to a folder is replaced, too. */
#define MOVE                                                                           \
	"; mkdir -p -- \"${path%/*}/\" && "                                            \
	"if [ \"$(stat -c %d:%i \"$kept\" 2>&1)\" = "                                  \
	"\"$(stat -c %d:%i \"$path\" 2>&1)\" ]; then"
#define MOVE_SAME " rm -f -- \"$kept\"; else if [ \"$(stat -c %h \"$kept\")\" -gt "
#define MOVE_COPY                                                                      \
	" ]; then cp -aT -- \"$kept\" \"$kept.part\" && "                              \
	"mv -fT -- \"$kept.part\" \"$kept\"; fi &&"
#define MOVE_OTHER " mv -fT -- \"$kept\" \"$path\"; fi"

/* Once: what is added after that stays. Another file may have its name. */
#define CUT                                                                            \
	"; if [ -e \"$kept\" ]; then "                                                 \
	"{ [ \"$(stat -c %i \"$path\" 2>&1)\" != "
#define CUT_OTHER " ] ||"
#define CUT_END   "; } && rm -f -- \"$kept\"; fi"
#define TO_MOST   " truncate -cs '<"
#define OF_PATH   "' -- \"$path\""
#define OF_KEPT   "' -- \"$kept\" &&"

enum {
	REST = sizeof(MOVE MOVE_SAME MOVE_COPY MOVE_OTHER CUT CUT_OTHER CUT_END) +
	       2 * sizeof(TO_MOST OF_KEPT)
};

/* A line with two paths: of each byte there may be four. */
struct put_back_line {
	char text[8 * PATH_MAX + REST + 64];
	size_t length;
};

static void put_back_plain(struct put_back_line *line, const char *text)
{
	size_t length = strlen(text);

	memcpy(line->text + line->length, text, length);
	line->length += length;
}

/* As one word. */
static void put_back_word(struct put_back_line *line, const char *path)
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
static void put_back_number(struct put_back_line *line, const char *kept)
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
static int put_back_open(const char *folder, struct put_back_line *path)
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

static void put_back_paths(struct put_back_line *line, const struct put_back *back)
{
	line->length = 0;
	put_back_plain(line, "kept=");
	put_back_word(line, back->kept);
	put_back_plain(line, " path=");
	put_back_word(line, back->path);
	if (back->again)
		put_back_number(line, back->kept);
}

static void put_back_digits(struct put_back_line *line, uint64_t number)
{
	char digits[RAW_DIGITS], *end = digits + sizeof(digits) - 1;

	*end = '\0';
	put_back_plain(line, raw_number(end, number));
}

static void put_back_most(struct put_back_line *line, uint64_t most, const char *of)
{
	if (most == UINT64_MAX)
		return;
	put_back_plain(line, TO_MOST);
	put_back_digits(line, most);
	put_back_plain(line, of);
}

static void put_back_moves(struct put_back_line *line, const struct put_back *back)
{
	put_back_paths(line, back);
	put_back_plain(line, MOVE);
	put_back_most(line, back->most, OF_KEPT);
	put_back_plain(line, MOVE_SAME);
	put_back_digits(line, back->names);
	put_back_plain(line, MOVE_COPY);
	put_back_most(line, back->most, OF_KEPT);
	put_back_plain(line, MOVE_OTHER);
}

static void put_back_cuts(struct put_back_line *line, const struct put_back *back)
{
	put_back_paths(line, back);
	put_back_plain(line, CUT);
	put_back_digits(line, back->inode);
	put_back_plain(line, CUT_OTHER);
	put_back_most(line, back->most, OF_PATH);
	put_back_plain(line, CUT_END);
}

typedef void put_back_what(struct put_back_line *line, const struct put_back *back);

static bool put_back_by(const char *folder, const struct put_back *back,
			put_back_what *what)
{
	struct put_back_line *line = raw_memory(sizeof(*line));
	int fd = line == NULL ? -1 : put_back_open(folder, line);
	bool whole = false;

	if (fd >= 0) {
		what(line, back);
		put_back_plain(line, "\n");
		/* at once, so that those of several processes do not mix */
		whole = put_back_write(fd, line->text, line->length);
	}
	raw_close(fd);
	raw_unmap(line, sizeof(*line));
	return whole;
}

bool put_back_add(const char *folder, const struct put_back *back)
{
	return put_back_by(folder, back, put_back_moves);
}

bool put_back_cut(const char *folder, const struct put_back *back)
{
	return put_back_by(folder, back, put_back_cuts);
}
