/* unpack.c - runs the programs that unpack archives, one after another. */
#include "profiler/dataset/unpack.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source.h"
#include "profiler/dataset/sample_kind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART ".part-" /* before the names of what is not whole */

static const struct unpacker {
	const char *ending, *program;
} unpackers[] = {
	{".tar.gz", "gzip"},   {".tgz", "gzip"},   {".tar.zst", "zstd"},
	{".tzst", "zstd"},     {".tar.xz", "xz"},  {".txz", "xz"},
	{".tar.bz2", "bzip2"}, {".tbz2", "bzip2"}, {".tar.lz4", "lz4"},
};

static const struct unpacker *unpack_find(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(unpackers) / sizeof(unpackers[0]); i++) {
		size_t size = strlen(unpackers[i].ending);

		if (length > size &&
		    strcasecmp(name + length - size, unpackers[i].ending) == 0)
			return &unpackers[i];
	}
	return NULL;
}

/* Bytes of the name without its ending. */
static int unpack_stem(const char *name)
{
	return (int)(strlen(name) - strlen(unpack_find(name)->ending));
}

static int unpack_is_one(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && unpack_find(entry->d_name) != NULL;
}

unsigned unpack_count(const char *folder)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;
	unsigned found = 0;

	while (stream != NULL && (entry = readdir(stream)) != NULL)
		found += unpack_is_one(entry);
	if (stream != NULL)
		closedir(stream);
	return found;
}

/* A folder may be a data set without them: only of tar archives are these the rest. */
bool unpack_claims(const char *from, const char *prep)
{
	const struct source_config config = {.prep = prep, .length = 1};
	struct source *source;
	enum sample_kind kind;
	struct error why = {0};
	struct stat status;
	bool claims;

	if (stat(from, &status) < 0)
		return false;
	if (!S_ISDIR(status.st_mode))
		return unpack_find(from) != NULL;
	if (unpack_count(from) == 0)
		return false;
	source = sample_source_open(from, &config, &kind, &why);
	claims = source != NULL ? strcmp(source_kind(source), "tar") == 0
				: why.code == ENOTSUP || why.code == ENODATA;
	source_close(source);
	return claims;
}

/* ---- one of them ---- */

struct unpack {
	const struct unpack_config *config;
	struct unpack_result *result;
	char part[PATH_MAX],
		path[PATH_MAX]; /* below `to`: until it is whole, and then */
};

static bool unpack_stopped(const struct unpack *unpack)
{
	return unpack->config->stop != NULL && atomic_load(unpack->config->stop);
}

/* Its exit status; -errno: there was none. */
static int unpack_wait(const struct unpack *unpack, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		if (unpack_stopped(unpack))
			kill(pid, SIGTERM);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* From one descriptor into another, so that no name is taken for an option. */
static int unpack_spawn(const struct unpack *unpack, const struct unpacker *unpacker,
			int from, int to)
{
	char program[16], option[] = "-dc", *words[] = {program, option, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int result;

	snprintf(program, sizeof(program), "%s", unpacker->program);
	result = posix_spawn_file_actions_init(&actions);
	if (result != 0)
		return -result;
	result = posix_spawn_file_actions_adddup2(&actions, from, 0);
	if (result == 0)
		result = posix_spawn_file_actions_adddup2(&actions, to, 1);
	if (result == 0)
		result = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null",
							  O_WRONLY, 0);
	if (result == 0)
		result = posix_spawnp(&pid, program, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return result == 0 ? unpack_wait(unpack, pid) : -result;
}

static int unpack_explain(const struct unpack *unpack, const struct unpacker *unpacker,
			  int status, struct error *err)
{
	if (unpack_stopped(unpack))
		return error_set(err, ECANCELED,
				 "stopped; the same command goes on from there");
	if (status == -ENOENT || status == 127)
		return error_set(err, ENOENT, "%s unpacks it: install %s",
				 unpacker->program, unpacker->program);
	if (status < 0)
		return error_sys(err, -status, "cannot run %s", unpacker->program);
	return error_set(err, EIO,
			 "%s could not unpack it (status %d): is it damaged, or the "
			 "disk of %s full?",
			 unpacker->program, status, unpack->config->to);
}

/* Whether it is an archive that the loader reads. */
static int unpack_prove(const struct unpack *unpack, struct error *err)
{
	const struct source_config config = {.index_dir = "",
					     .prep = unpack->config->prep};
	enum sample_kind kind;
	struct source *source = sample_source_open(unpack->part, &config, &kind, err);

	if (source == NULL)
		return -err->code;
	source_close(source);
	return 0;
}

/* What was made has the time of what it was made of, as these programs do. */
static int unpack_mark(int from, int to)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat status;

	if (fstat(from, &status) < 0)
		return -errno;
	times[1] = status.st_mtim;
	return futimens(to, times);
}

/* Some file systems keep no fractions, or even seconds alone. */
static bool unpack_same_time(const struct timespec *archive,
			     const struct timespec *made)
{
	return made->tv_nsec != 0
		       ? archive->tv_sec == made->tv_sec &&
				 archive->tv_nsec == made->tv_nsec
		       : llabs((long long)(archive->tv_sec - made->tv_sec)) < 2;
}

/* What is there is of this archive; or -EEXIST. */
static int unpack_take(struct unpack *unpack, const char *from,
		       const struct stat *there, struct error *err)
{
	char shown[NAME_SHOWN];
	struct stat status;

	if (stat(from, &status) < 0)
		return error_sys(err, errno, "cannot be opened");
	if (!unpack_same_time(&status.st_mtim, &there->st_mtim))
		return error_set(err, EEXIST,
				 "%s is there, and not made of it as it is now: remove "
				 "that, or name a new folder",
				 name_escape(unpack->path, shown, sizeof(shown)));
	unpack->result->there++;
	unpack->result->bytes += (uint64_t)there->st_size;
	return 0;
}

static int unpack_write(struct unpack *unpack, const struct unpacker *unpacker,
			int from, struct error *err)
{
	int to = open(unpack->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int status;

	if (to < 0)
		return error_sys(err, errno, "cannot write %s", unpack->part);
	status = unpack_spawn(unpack, unpacker, from, to);
	if (status != 0)
		status = unpack_explain(unpack, unpacker, status, err);
	else if (unpack_mark(from, to) < 0 || fsync(to) < 0)
		status = error_sys(err, errno, "cannot write %s", unpack->part);
	close(to);
	if (status == 0)
		status = unpack_prove(unpack, err);
	if (status == 0 && rename(unpack->part, unpack->path) < 0)
		status = error_sys(err, errno, "cannot write %s", unpack->path);
	if (status < 0)
		unlink(unpack->part);
	return status;
}

static int unpack_new(struct unpack *unpack, const struct unpacker *unpacker,
		      const char *from, struct error *err)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? error_sys(err, errno, "cannot be opened")
			    : unpack_write(unpack, unpacker, fd, err);
	struct stat status;

	if (fd >= 0)
		close(fd);
	if (result == 0 && stat(unpack->path, &status) == 0)
		unpack->result->bytes += (uint64_t)status.st_size;
	return result;
}

static int unpack_one(struct unpack *unpack, const char *from, struct error *err)
{
	const char *slash = strrchr(from, '/'),
		   *name = slash != NULL ? slash + 1 : from;
	const struct unpacker *unpacker = unpack_find(name);
	int length = unpack_stem(name), result;
	char shown[NAME_SHOWN];
	struct stat status;

	if (snprintf(unpack->path, PATH_MAX, "%s/%.*s.tar", unpack->config->to, length,
		     name) >= PATH_MAX ||
	    snprintf(unpack->part, PATH_MAX, "%s/" PART "%.*s.tar", unpack->config->to,
		     length, name) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "the path is too long");
	result = stat(unpack->path, &status) == 0
			 ? unpack_take(unpack, from, &status, err)
			 : unpack_new(unpack, unpacker, from, err);
	return result < 0 ? error_within(err, result, "%s",
					 name_escape(from, shown, sizeof(shown)))
			  : 0;
}

/* ---- all of them ---- */

/* Whether a file is what becomes of some archive in the folder. */
static bool unpack_is_of(DIR *folder, const char *file)
{
	size_t length = strlen(file) - strlen(".tar");
	const struct dirent *entry;

	rewinddir(folder);
	while ((entry = readdir(folder)) != NULL)
		if (unpack_is_one(entry) &&
		    (size_t)unpack_stem(entry->d_name) == length &&
		    memcmp(entry->d_name, file, length) == 0)
			return true;
	return false;
}

static bool unpack_made(DIR *folder, const char *file)
{
	const char *dot = strrchr(file, '.');

	return strcmp(file, ".") == 0 || strcmp(file, "..") == 0 ||
	       strncmp(file, PART, strlen(PART)) == 0 ||
	       (dot != NULL && strcmp(dot, ".tar") == 0 && unpack_is_of(folder, file));
}

/* Where the archives are. */
static DIR *unpack_open_from(const char *from)
{
	const char *slash = strrchr(from, '/');
	char folder[PATH_MAX];
	struct stat status;

	if (stat(from, &status) == 0 && S_ISDIR(status.st_mode))
		return opendir(from);
	if (slash == NULL)
		return opendir(".");
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - from) + 1, from);
	return opendir(folder);
}

/* What is made would be mixed with other files: -ENOTEMPTY, or another -errno. */
static int unpack_check_folder(const struct unpack_config *config, struct error *err)
{
	DIR *from = unpack_open_from(config->from), *to = opendir(config->to);
	const struct dirent *entry;
	char shown[NAME_SHOWN];
	int result = 0;

	if (from == NULL || to == NULL) {
		result = error_sys(err, errno, "cannot read %s",
				   from == NULL ? config->from : config->to);
		goto out;
	}
	while (result == 0 && (entry = readdir(to)) != NULL)
		if (!unpack_made(from, entry->d_name))
			result = error_set(
				err, ENOTEMPTY,
				"%s has %s, which is none of these archives "
				"unpacked: name a new folder",
				config->to,
				name_escape(entry->d_name, shown, sizeof(shown)));
out:
	if (from != NULL)
		closedir(from);
	if (to != NULL)
		closedir(to);
	return result;
}

static int unpack_is_plain(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot != NULL && strcasecmp(dot, ".tar") == 0;
}

/* Those that are not compressed would be left out. */
static int unpack_check_plain(const char *from, const char *packed, struct error *err)
{
	DIR *folder = opendir(from);
	const struct dirent *entry;
	char shown[2][NAME_SHOWN];
	int result = 0;

	if (folder == NULL)
		return error_sys(err, errno, "cannot read %s", from);
	while (result == 0 && (entry = readdir(folder)) != NULL)
		if (unpack_is_plain(entry))
			result = error_set(
				err, EINVAL,
				"%s is compressed, and %s is not: put them into two "
				"folders",
				name_escape(packed, shown[0], NAME_SHOWN),
				name_escape(entry->d_name, shown[1], NAME_SHOWN));
	closedir(folder);
	return result;
}

/* Two that would be one file: "a.tar.gz" and "a.tgz". */
static int unpack_check_names(struct dirent *const *list, int count, struct error *err)
{
	for (int i = 1; i < count; i++) {
		const char *one = list[i - 1]->d_name, *other = list[i]->d_name;
		char shown[2][NAME_SHOWN];

		if (unpack_stem(one) == unpack_stem(other) &&
		    strncmp(one, other, (size_t)unpack_stem(one)) == 0)
			return error_set(err, EEXIST,
					 "%s and %s would be the same archive: take "
					 "one of them away",
					 name_escape(one, shown[0], NAME_SHOWN),
					 name_escape(other, shown[1], NAME_SHOWN));
	}
	return 0;
}

/* By what they are called without their endings. */
static int unpack_order(const struct dirent **a, const struct dirent **b)
{
	int one = unpack_stem((*a)->d_name), other = unpack_stem((*b)->d_name);
	int order = strncmp((*a)->d_name, (*b)->d_name,
			    (size_t)(one < other ? one : other));

	return order != 0 ? order : one - other;
}

static int unpack_folder(struct unpack *unpack, struct error *err)
{
	const struct unpack_config *config = unpack->config;
	struct dirent **list;
	int count = scandir(config->from, &list, unpack_is_one, unpack_order), result;

	if (count < 0)
		return error_sys(err, errno, "cannot read %s", config->from);
	result = unpack_check_names(list, count, err);
	if (result == 0 && count > 0)
		result = unpack_check_plain(config->from, list[0]->d_name, err);
	unpack->result->archives = (uint32_t)count;
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", config->from, list[i]->d_name);
		if (result == 0)
			result = unpack_one(unpack, path, err);
		if (result == 0 && config->progress != NULL)
			config->progress(config->arg, (size_t)i + 1, (size_t)count);
		free(list[i]);
	}
	free(list);
	return result;
}

int unpack_run(const struct unpack_config *config, struct unpack_result *result,
	       struct error *err)
{
	struct unpack *unpack = calloc(1, sizeof(*unpack));
	struct stat status;
	int code;

	*result = (struct unpack_result){.archives = 1};
	if (unpack == NULL)
		return error_sys(err, ENOMEM, "cannot unpack it");
	unpack->config = config;
	unpack->result = result;
	if (mkdir(config->to, 0777) < 0 && errno != EEXIST)
		code = error_sys(err, errno, "cannot make the folder %s", config->to);
	else
		code = unpack_check_folder(config, err);
	if (code == 0 && stat(config->from, &status) == 0 && S_ISDIR(status.st_mode))
		code = unpack_folder(unpack, err);
	else if (code == 0)
		code = unpack_one(unpack, config->from, err);
	free(unpack);
	return code;
}
