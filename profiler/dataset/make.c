/* make.c - draws the samples in several threads, and writes them. */
#include "profiler/dataset/make.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/thread_pool.h"
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/dataset/draw/draw.h"
#include "profiler/dataset/new_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST     "list.txt"
#define PATH_LEN 64 /* bytes of the longest path below the data set's folder */

_Static_assert(MAKE_CLASSES == DRAW_CLASSES, "every class can be drawn");

struct make {
	const struct make_config *config;
	const struct draw *draw;
	const struct shard_form *shards; /* NULL: a file a sample */
	struct new_folder folder;
	uint32_t per_file;         /* samples */
	atomic_uint_fast32_t next; /* file to begin */
	atomic_bool failed;

	pthread_mutex_t lock; /* guards what follows */
	uint32_t made;
	uint64_t bytes;
	struct error error; /* the first one */
};

const char *make_words(enum make_format format, uint32_t count)
{
	return format == MAKE_AUDIO ? count == 1 ? "recording" : "recordings"
	       : format == MAKE_TOKENS
		       ? count == 1 ? "file of tokens" : "files of tokens"
	       : count == 1 ? "picture"
			    : "pictures";
}

static const struct draw *make_draw(const struct make_config *config)
{
	if (config->format == MAKE_AUDIO)
		return &draw_tones;
	if (config->format == MAKE_TOKENS)
		return config->token_bits == 32 ? &draw_tokens_32 : &draw_tokens_16;
	return &draw_photos;
}

/* Where a file lies below the data set's folder. */
static void make_place(const struct make *make, uint32_t file, char path[PATH_LEN])
{
	char class[DRAW_NAME] = "images";

	if (make->config->format != MAKE_LIST)
		make->draw->name(file % make->config->classes, class);
	snprintf(path, PATH_LEN, "%s/%06u.%s", class, file, make->draw->ending);
}

/* The label that a list with these classes gives this one. */
static uint32_t make_label(const struct make *make, const char *class)
{
	uint32_t label = 0;

	for (unsigned i = 0; i < make->config->classes; i++) {
		char other[DRAW_NAME];

		make->draw->name(i, other);
		label += strcmp(other, class) < 0;
	}
	return label;
}

static void make_path(const struct make *make, uint32_t file, char path[PATH_LEN])
{
	if (make->shards != NULL)
		shard_form_path(make->shards, file, path);
	else
		make_place(make, file, path);
}

static void make_fail(struct make *make, int code, const char *path)
{
	pthread_mutex_lock(&make->lock);
	if (!atomic_exchange(&make->failed, true)) {
		if (code == ENOMEM)
			error_set(&make->error, code, "no memory to draw %s",
				  make_words(make->config->format, 0));
		else
			error_set(&make->error, code,
				  "cannot write %s/%s: %s; what was made is removed",
				  make->folder.name, path, strerrordesc_np(code));
	}
	pthread_mutex_unlock(&make->lock);
}

static bool make_over(struct make *make)
{
	const atomic_bool *stop = make->config->stop;

	return atomic_load(&make->failed) || (stop != NULL && atomic_load(stop));
}

static void make_count(struct make *make, size_t size)
{
	const struct make_config *config = make->config;

	pthread_mutex_lock(&make->lock);
	make->bytes += size;
	make->made++;
	if (config->progress != NULL)
		config->progress(config->arg, make->made);
	pthread_mutex_unlock(&make->lock);
}

/* Adds a sample and its class to a shard. */
static int make_member(struct make *make, void *state, uint32_t number,
		       struct archive *shard)
{
	char class[DRAW_NAME];
	struct shard_sample sample = {
		.number = number, .class = class, .ending = make->draw->ending};
	int result = -ENOMEM;

	make->draw->name(number % make->config->classes, class);
	sample.label = make_label(make, class);
	sample.bytes = make->draw->take(state, number, &sample.size);
	if (sample.bytes != NULL)
		result = make->shards->add(shard, &sample);
	if (result == 0)
		make_count(make, sample.size);
	return result;
}

/* -ECANCELED: another thread, or the caller, gave up. */
static int make_shard(struct make *make, void *state, uint32_t file, const char *path)
{
	uint32_t first = file * make->per_file, end = make->config->count;
	struct archive shard = {0};
	int result = 0;

	if (end - first > make->per_file)
		end = first + make->per_file;
	for (uint32_t i = first; i < end && result == 0; i++)
		result = make_over(make) ? -ECANCELED
					 : make_member(make, state, i, &shard);
	if (result == 0)
		result = make->shards->end(&shard);
	if (result == 0)
		result = new_folder_put(&make->folder, path, shard.bytes, shard.size);
	free(shard.bytes);
	return result;
}

static int make_sample(struct make *make, void *state, uint32_t number,
		       const char *path)
{
	size_t size;
	const uint8_t *bytes = make->draw->take(state, number, &size);
	int result = -ENOMEM;

	if (bytes != NULL)
		result = new_folder_put(&make->folder, path, bytes, size);
	if (result == 0)
		make_count(make, size);
	return result;
}

static int make_file(struct make *make, void *state, uint32_t file)
{
	char path[PATH_LEN];
	int result;

	make_path(make, file, path);
	result = (make->shards != NULL ? make_shard : make_sample)(make, state, file,
								   path);
	if (result < 0 && result != -ECANCELED)
		make_fail(make, -result, path);
	return result;
}

static uint32_t make_files(const struct make *make)
{
	return (make->config->count - 1) / make->per_file + 1;
}

static void make_work(void *arg)
{
	struct make *make = arg;
	const struct make_config *config = make->config;
	const struct draw_config law = {.seed = config->seed,
					.size_mean = config->size_mean,
					.quality = config->quality,
					.classes = config->classes};
	void *state = make->draw->open(&law);

	if (state == NULL)
		make_fail(make, ENOMEM, "");
	while (!make_over(make)) {
		uint_fast32_t file = atomic_fetch_add(&make->next, 1);

		if (file >= make_files(make) ||
		    make_file(make, state, (uint32_t)file) != 0)
			break;
	}
	make->draw->close(state);
}

/* With fewer threads than asked for the pictures are the same. */
static int make_work_together(struct make *make)
{
	thread_pool_run(make->config->threads, make_work, make);
	if (atomic_load(&make->failed))
		return -make->error.code;
	if (make_over(make) && make->made < make->config->count)
		return error_set(&make->error, ECANCELED,
				 "stopped after %u of %u %s; they are removed again",
				 make->made, make->config->count,
				 make_words(make->config->format, 0));
	return 0;
}

/* Calls for every folder below the data set's; ends at the first that is not 0. */
static int each_folder(const struct make *make, int (*call)(int dir, const char *name))
{
	unsigned folders = make->shards != NULL                ? 0
			   : make->config->format == MAKE_LIST ? 1
							       : make->config->classes;
	int result = 0;

	for (unsigned i = 0; i < folders && result == 0; i++) {
		char path[PATH_LEN];

		make_place(make, i, path);
		*strchr(path, '/') = '\0';
		result = call(make->folder.fd, path);
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
		char path[PATH_LEN], class[DRAW_NAME];

		make_place(make, i, path);
		make->draw->name(i % config->classes, class);
		fprintf(stream, "%s %s\n", path, class);
	}
	if (io_text(stream, &text) != NULL)
		result = new_folder_put(&make->folder, LIST, (const uint8_t *)text,
					size);
	free(text);
	return result;
}

static void remove_all(struct make *make)
{
	uint32_t begun = (uint32_t)atomic_load(&make->next);

	for (uint32_t i = 0; i < begun && i < make_files(make); i++) {
		char path[PATH_LEN];

		make_path(make, i, path);
		unlinkat(make->folder.fd, path, 0);
	}
	each_folder(make, remove_folder);
	new_folder_remove(&make->folder);
}

static int make_fill(struct make *make)
{
	int result = each_folder(make, make_add_folder);

	if (result != 0)
		return error_sys(&make->error, -result, "cannot make a folder in %s",
				 make->folder.name);
	result = make_work_together(make);
	if (result != 0 || make->config->format != MAKE_LIST)
		return result;
	result = write_list(make);
	if (result != 0)
		return error_sys(&make->error, -result, "cannot write %s/" LIST,
				 make->folder.name);
	return 0;
}

int make_run(const struct make_config *config, struct make_result *result,
	     struct error *err)
{
	static const struct shard_form *const shards[MAKE_TOKENS + 1] = {
		[MAKE_TAR] = &shard_form_tar, [MAKE_TFRECORD] = &shard_form_tfrecord};
	struct make make = {.config = config,
			    .draw = make_draw(config),
			    .per_file = 1,
			    .shards = shards[config->format]};
	uint64_t start = clock_now();
	int status = new_folder_open(&make.folder, config->dir, err);

	if (status != 0)
		goto out;
	if (make.shards != NULL)
		make.per_file = 1 + (uint32_t)(config->shard_size / config->size_mean);
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
	new_folder_close(&make.folder);
	return status;
}
