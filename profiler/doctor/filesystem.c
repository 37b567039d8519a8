/* filesystem.c - the checks of a data set and of the storage that it lies on. */
#include "profiler/doctor/check.h"

#include "loader/base/name.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { BLOCK = 4096, FOLDERS_DEEP = 4 };

void check_find_sample(struct check_subject *subject)
{
	char *roots[] = {strdup(subject->dataset), NULL};
	FTS *tree = roots[0] != NULL ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
				     : NULL;
	FTSENT *entry;

	while (tree != NULL && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D && entry->fts_level >= FOLDERS_DEEP)
			fts_set(tree, entry, FTS_SKIP);
		if (entry->fts_info != FTS_F || entry->fts_statp->st_size == 0 ||
		    entry->fts_pathlen >= sizeof(subject->sample))
			continue;
		memcpy(subject->sample, entry->fts_path, entry->fts_pathlen + 1);
		break;
	}
	if (tree != NULL)
		fts_close(tree);
	free(roots[0]);
}

static const char *file_system(long type)
{
	static const struct {
		long type;
		const char *name;
	} known[] = {
		{EXT4_SUPER_MAGIC, "ext4"},
		{XFS_SUPER_MAGIC, "xfs"},
		{BTRFS_SUPER_MAGIC, "btrfs"},
		{TMPFS_MAGIC, "tmpfs, that is memory"},
		{RAMFS_MAGIC, "ramfs, that is memory"},
		{NFS_SUPER_MAGIC, "nfs"},
		{OVERLAYFS_SUPER_MAGIC, "overlay"},
		{FUSE_SUPER_MAGIC, "fuse"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i].name;
	return "another file system";
}

void check_dataset(struct doctor_line *line, const struct check_subject *subject)
{
	char name[NAME_SHOWN];
	struct statfs at;

	name_escape(subject->dataset, name, sizeof(name));
	if (access(subject->dataset, R_OK) < 0)
		check_report(line, DOCTOR_BROKEN, "name a directory or a list file",
			     "cannot read '%s': %s", name, strerror(errno));
	else if (subject->sample[0] == '\0')
		check_report(line, DOCTOR_BROKEN,
			     "dsa dataset make DIR makes one to try with",
			     "no file in '%s'", name);
	else if (statfs(subject->sample, &at) < 0)
		check_report(line, DOCTOR_BROKEN, NULL, "cannot examine '%s': %s", name,
			     strerror(errno));
	else
		check_report(line, DOCTOR_OK, NULL, "'%s' on %s", name,
			     file_system((long)at.f_type));
}

/* 0, or the errno value of reading a file's first block around the page cache. */
static int read_direct(const char *path)
{
	_Alignas(BLOCK) char block[BLOCK];
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	int code;

	if (fd < 0)
		return errno;
	code = pread(fd, block, sizeof(block), 0) < 0 ? errno : 0;
	close(fd);
	return code;
}

void check_direct(struct doctor_line *line, const struct check_subject *subject)
{
	int code;

	if (subject->sample[0] == '\0')
		return;
	code = read_direct(subject->sample);
	if (code == 0)
		check_report(line, DOCTOR_OK, NULL, "works for this data set");
	else
		check_report(line, DOCTOR_LIMITED,
			     "ext4 or xfs on a local disk reads around the page cache",
			     "%s: files are evicted before they are read instead",
			     strerror(code));
}

/* Which of the ways to see what of a file is cached works; NULL if none does. */
static const char *residency_by(int fd)
{
	uint64_t range[2] = {0, BLOCK}, counts[5];
	char byte;
	struct iovec vector = {&byte, 1};

	if (syscall(SYS_cachestat, fd, range, counts, 0) == 0)
		return "cachestat";
	if (preadv2(fd, &vector, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN)
		return "RWF_NOWAIT";
	return NULL;
}

void check_residency(struct doctor_line *line, const struct check_subject *subject)
{
	const char *way;
	int fd;

	if (subject->sample[0] == '\0')
		return;
	fd = open(subject->sample, O_RDONLY | O_CLOEXEC);
	way = fd < 0 ? NULL : residency_by(fd);
	if (fd >= 0)
		close(fd);
	if (way != NULL)
		check_report(line, DOCTOR_OK, NULL, "%s reports what is cached", way);
	else
		check_report(line, DOCTOR_LIMITED,
			     "own the files, and a kernel of 6.5 or later",
			     "nothing reports what of this data set is cached");
}
