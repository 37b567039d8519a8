/*
 * procfs.h - reads the small files of /proc and /sys.
 *
 * Every path starts with `root`, "" on a real machine; tests put a tree of their own
 * there. A missing file is no error: the value it would hold is unknown.
 */
#ifndef DSA_PROCFS_H
#define DSA_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the head of a file, at most size - 1 bytes, and ends it with 0. The path
 * is root followed by what format makes. Returns the length or -errno (text is "").
 */
int procfs_read(char *text, size_t size, const char *root, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same of a path that is no format; cuts the text at the end of its first line. */
int procfs_line(char *text, size_t size, const char *root, const char *path);

/* Reads a file that holds one number and nothing else. */
bool procfs_number(uint64_t *value, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Finds the number after `key` at the start of a line: "MemTotal:", "rchar:". */
bool procfs_value(const char *text, const char *key, uint64_t *value);

/* Counts the numbers in a list like "0-3,8,10-11". False when it is no list. */
bool procfs_list(const char *text, uint64_t *count);

/* A mounted file system: a line of /proc/self/mountinfo, taken apart. */
struct procfs_mount {
	char *line;        /* holds the texts below */
	const char *root;  /* what of the file system is mounted */
	const char *point; /* where */
	const char *type, *device, *options;
	unsigned major, minor;
};

/* Takes `line` apart in place; false when it is no line of a mountinfo file. */
bool procfs_mount_parse(char *line, struct procfs_mount *mount);

/*
 * The last mount for which wanted() is true; `best` is the one before it that was, or
 * NULL. False when there is none. The caller frees mount->line.
 */
bool procfs_mount_find(const char *root, struct procfs_mount *mount,
		       bool (*wanted)(const struct procfs_mount *mount,
				      const struct procfs_mount *best, const void *arg),
		       const void *arg);

/* True when `word` is one of the words of `list`, which commas separate. */
bool procfs_word(const char *list, const char *word);

#endif
