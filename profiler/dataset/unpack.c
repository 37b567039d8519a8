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

bool unpack_claims(const char *from)
{
	struct dirent **list;
	struct stat status;
	int count;

	if (stat(from, &status) < 0)
		return false;
	if (!S_ISDIR(status.st_mode))
		return unpack_find(from) != NULL;
	count = scandir(from, &list, unpack_is_one, NULL);
	for (int i = 0; i < count; i++)
		free(list[i]);
	if (count >= 0)
		free(list);
	return count > 0;
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
	else if (fsync(to) < 0)
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

static int unpack_one(struct unpack *unpack, const char *from, struct error *err)
{
	const char *slash = strrchr(from, '/'),
		   *name = slash != NULL ? slash + 1 : from;
	const struct unpacker *unpacker = unpack_find(name);
	int length = unpack_stem(name), fd, result;
	char shown[NAME_SHOWN];
	struct stat status;

	if (snprintf(unpack->path, PATH_MAX, "%s/%.*s.tar", unpack->config->to, length,
		     name) >= PATH_MAX ||
	    snprintf(unpack->part, PATH_MAX, "%s/.part-%.*s.tar", unpack->config->to,
		     length, name) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "the path is too long");
	if (stat(unpack->path, &status) == 0) {
		unpack->result->there++;
		unpack->result->bytes += (uint64_t)status.st_size;
		return 0;
	}
	fd = open(from, O_RDONLY | O_CLOEXEC);
	result = fd < 0 ? error_sys(err, errno, "cannot be opened")
			: unpack_write(unpack, unpacker, fd, err);
	if (fd >= 0)
		close(fd);
	if (result < 0)
		return error_within(err, result, "%s",
				    name_escape(from, shown, sizeof(shown)));
	if (stat(unpack->path, &status) == 0)
		unpack->result->bytes += (uint64_t)status.st_size;
	return 0;
}

/* ---- all of them ---- */

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
	else if (stat(config->from, &status) == 0 && S_ISDIR(status.st_mode))
		code = unpack_folder(unpack, err);
	else
		code = unpack_one(unpack, config->from, err);
	free(unpack);
	return code;
}
