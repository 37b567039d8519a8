/* make.c - draws the pictures in several threads, and writes them. */
#include "profiler/dataset/make.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/name.h"
#include "loader/base/thread_pool.h"
#include "profiler/dataset/pattern.h"
#include "profiler/dataset/photo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST     "list.txt"
#define TEMP     ".part"
#define PATH_LEN 64 /* bytes of the longest path below the data set's folder */

_Static_assert(MAKE_CLASSES == PATTERN_CLASSES, "every class has a pattern");

struct make {
	const struct make_config *config;
	char name[NAME_SHOWN]; /* of the folder, as it may be printed */
	int dir;
	bool made_dir;
	atomic_uint_fast32_t next; /* picture to begin */
	atomic_bool failed;

	pthread_mutex_t lock; /* guards what follows */
	uint32_t made;
	uint64_t bytes;
	struct error error; /* the first one */
};

/* Where picture `number` lies below the data set's folder. */
static void make_place(const struct make_config *config, uint32_t number,
		       char path[PATH_LEN])
{
	char class[PATTERN_NAME] = "images";

	if (!config->list)
		pattern_name(number % config->classes, class);
	snprintf(path, PATH_LEN, "%s/%06u.jpg", class, number);
}

/* Writes under another name first, so that a file is there whole or not at all. */
static int write_file(int dir, const char *path, const uint8_t *bytes, size_t size)
{
	char temp[PATH_LEN + sizeof(TEMP)];
	int result, fd;

	snprintf(temp, sizeof(temp), "%s" TEMP, path);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	result = io_write(fd, bytes, size);
	if (close(fd) != 0 && result == 0)
		result = -errno;
	if (result == 0 && renameat(dir, temp, dir, path) != 0)
		result = -errno;
	if (result != 0)
		unlinkat(dir, temp, 0);
	return result;
}

static void make_fail(struct make *make, int code, const char *path)
{
	pthread_mutex_lock(&make->lock);
	if (!atomic_exchange(&make->failed, true)) {
		if (code == ENOMEM)
			error_set(&make->error, code, "no memory to draw pictures");
		else
			error_set(&make->error, code,
				  "cannot write %s/%s: %s; what was made is removed",
				  make->name, path, strerrordesc_np(code));
	}
	pthread_mutex_unlock(&make->lock);
}

static int make_picture(struct make *make, struct photo *photo, uint32_t number)
{
	const struct make_config *config = make->config;
	char path[PATH_LEN];
	const uint8_t *bytes;
	size_t size;
	int result;

	make_place(config, number, path);
	bytes = photo_take(photo, number, &size);
	result = bytes != NULL ? write_file(make->dir, path, bytes, size) : -ENOMEM;
	if (result != 0) {
		make_fail(make, -result, path);
		return result;
	}
	pthread_mutex_lock(&make->lock);
	make->bytes += size;
	make->made++;
	if (config->progress != NULL)
		config->progress(config->arg, make->made);
	pthread_mutex_unlock(&make->lock);
	return 0;
}

static bool make_over(struct make *make)
{
	const atomic_bool *stop = make->config->stop;

	return atomic_load(&make->failed) || (stop != NULL && atomic_load(stop));
}

static void make_work(void *arg)
{
	struct make *make = arg;
	const struct make_config *config = make->config;
	struct photo_config law = {.seed = config->seed,
				   .size_mean = config->size_mean,
				   .quality = config->quality,
				   .classes = config->classes};
	struct photo *photo = photo_new(&law);

	if (photo == NULL)
		make_fail(make, ENOMEM, "");
	while (!make_over(make)) {
		uint_fast32_t number = atomic_fetch_add(&make->next, 1);

		if (number >= config->count || make_picture(make, photo, number) != 0)
			break;
	}
	photo_free(photo);
}

/* With fewer threads than asked for the pictures are the same. */
static int make_work_together(struct make *make)
{
	thread_pool_run(make->config->threads, make_work, make);
	if (atomic_load(&make->failed))
		return -make->error.code;
	if (make_over(make) && make->made < make->config->count)
		return error_set(
			&make->error, ECANCELED,
			"stopped after %u of %u pictures; they are removed again",
			make->made, make->config->count);
	return 0;
}

/* Calls for every folder below the data set's; ends at the first that is not 0. */
static int each_folder(const struct make *make, int (*call)(int dir, const char *name))
{
	unsigned folders = make->config->list ? 1 : make->config->classes;
	int result = 0;

	for (unsigned i = 0; i < folders && result == 0; i++) {
		char path[PATH_LEN];

		make_place(make->config, i, path);
		*strchr(path, '/') = '\0';
		result = call(make->dir, path);
	}
	return result;
}

static int make_add_folder(int dir, const char *name)
{
	return mkdirat(dir, name, 0777) == 0 ? 0 : -errno;
}

static int remove_folder(int dir, const char *name)
{
	unlinkat(dir, name, AT_REMOVEDIR);
	return 0;
}

static int write_list(const struct make *make)
{
	const struct make_config *config = make->config;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int result = -ENOMEM;

	if (stream == NULL)
		return -errno;
	for (uint32_t i = 0; i < config->count; i++) {
		char path[PATH_LEN], class[PATTERN_NAME];

		make_place(config, i, path);
		pattern_name(i % config->classes, class);
		fprintf(stream, "%s %s\n", path, class);
	}
	if (io_text(stream, &text) != NULL)
		result = write_file(make->dir, LIST, (const uint8_t *)text, size);
	free(text);
	return result;
}

static void remove_all(struct make *make)
{
	uint32_t begun = (uint32_t)atomic_load(&make->next);

	for (uint32_t i = 0; i < begun && i < make->config->count; i++) {
		char path[PATH_LEN];

		make_place(make->config, i, path);
		unlinkat(make->dir, path, 0);
	}
	each_folder(make, remove_folder);
	if (make->made_dir)
		rmdir(make->config->dir);
}

static int make_fill(struct make *make)
{
	int result = each_folder(make, make_add_folder);

	if (result != 0)
		return error_sys(&make->error, -result, "cannot make a folder in %s",
				 make->name);
	result = make_work_together(make);
	if (result != 0 || !make->config->list)
		return result;
	result = write_list(make);
	if (result != 0)
		return error_sys(&make->error, -result, "cannot write %s/" LIST,
				 make->name);
	return 0;
}

/* 0 when there is nothing in the folder. */
static int check_empty(const struct make *make, struct error *err)
{
	DIR *stream = opendir(make->config->dir);
	const struct dirent *entry;
	unsigned entries = 0;

	if (stream == NULL)
		return error_sys(err, errno, "cannot read %s", make->name);
	while (entries == 0 && (entry = readdir(stream)) != NULL)
		entries += strcmp(entry->d_name, ".") != 0 &&
			   strcmp(entry->d_name, "..") != 0;
	closedir(stream);
	if (entries > 0)
		return error_set(
			err, ENOTEMPTY,
			"%s is not empty; name a new folder, or remove it first",
			make->name);
	return 0;
}

static int open_dir(struct make *make, struct error *err)
{
	const char *dir = make->config->dir;

	name_escape(dir, make->name, sizeof(make->name));
	make->made_dir = mkdir(dir, 0777) == 0;
	if (!make->made_dir && errno != EEXIST)
		return error_sys(err, errno, "cannot make the folder %s", make->name);
	make->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (make->dir < 0)
		return error_sys(err, errno, "cannot open %s", make->name);
	return check_empty(make, err);
}

int make_run(const struct make_config *config, struct make_result *result,
	     struct error *err)
{
	struct make make = {.config = config, .dir = -1};
	uint64_t start = clock_now();
	int status = open_dir(&make, err);

	if (status != 0)
		goto out;
	pthread_mutex_init(&make.lock, NULL);
	status = make_fill(&make);
	pthread_mutex_destroy(&make.lock);
	if (status != 0) {
		remove_all(&make);
		if (err != NULL)
			*err = make.error;
		goto out;
	}
	result->bytes = make.bytes;
	result->seconds = clock_since(start);
out:
	if (make.dir >= 0)
		close(make.dir);
	return status;
}
