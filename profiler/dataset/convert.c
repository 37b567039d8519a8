/* convert.c - shrinks the samples of a source in several threads. */
#include "profiler/dataset/convert.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/source.h"
#include "profiler/dataset/new_folder.h"
#include "profiler/dataset/sample_file.h"
#include "profiler/dataset/shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct convert {
	const struct convert_config *config;
	const struct source *source;
	struct new_folder folder;
	atomic_uint_fast32_t next; /* sample to begin */
	atomic_bool failed;

	pthread_mutex_t lock; /* guards what follows */
	struct convert_result result;
	struct error error; /* the first one */
};

/* What a thread works with. */
struct convert_thread {
	struct convert *convert;
	struct shrinker *shrinker;
	struct sample_bytes bytes;
};

static void convert_fail(struct convert *convert, const struct error *err)
{
	pthread_mutex_lock(&convert->lock);
	if (!atomic_exchange(&convert->failed, true))
		convert->error = *err;
	pthread_mutex_unlock(&convert->lock);
}

/* ---- places ---- */

/* Below the folder of either data set. */
static void convert_path(const struct convert *convert, uint32_t sample,
			 char path[PATH_MAX])
{
	struct source_place place;

	source_place(convert->source, sample, path, &place);
	if (place.path != path)
		snprintf(path, PATH_MAX, "%s", place.path);
}

/* Folder after folder; those that are there stay. */
static void convert_add_folders(const struct convert *convert, char *path)
{
	for (char *at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdirat(convert->folder.fd, path, 0777);
		*at = '/';
	}
}

static int convert_put(const struct convert *convert, uint32_t sample,
		       const struct shrunk *shrunk)
{
	char path[PATH_MAX];
	int result;

	convert_path(convert, sample, path);
	result = new_folder_put(&convert->folder, path, shrunk->bytes, shrunk->size);
	if (result != -ENOENT)
		return result;
	convert_add_folders(convert, path);
	return new_folder_put(&convert->folder, path, shrunk->bytes, shrunk->size);
}

/* A file, and the folders around it that are empty then. */
static void convert_remove(const struct convert *convert, uint32_t sample)
{
	char path[PATH_MAX], *slash;

	convert_path(convert, sample, path);
	unlinkat(convert->folder.fd, path, 0);
	while ((slash = strrchr(path, '/')) != NULL) {
		*slash = '\0';
		if (unlinkat(convert->folder.fd, path, AT_REMOVEDIR) != 0)
			break;
	}
}

static void convert_remove_all(struct convert *convert)
{
	uint32_t begun = (uint32_t)atomic_load(&convert->next);
	uint32_t classes = source_facts(convert->source)->classes;

	for (uint32_t i = 0; i < begun && i < convert->result.samples; i++)
		convert_remove(convert, i);
	for (uint32_t i = 0; i < classes; i++)
		unlinkat(convert->folder.fd, source_class(convert->source, i),
			 AT_REMOVEDIR);
	new_folder_remove(&convert->folder);
}

/* ---- samples ---- */

static char *convert_broken_text(const struct source *source, uint32_t sample,
				 const struct error *why)
{
	char name[NAME_SHOWN], *text;

	source_name(source, sample, name, sizeof(name));
	return asprintf(&text, "%s: %s", name, why->message) < 0 ? NULL : text;
}

void convert_result_broken(struct convert_result *result, const struct source *source,
			   uint32_t sample, const struct error *why)
{
	uint32_t at = result->broken++;

	if (at >= CONVERT_NAMED) {
		at = CONVERT_NAMED - 1;
		if (result->at[at] < sample)
			return;
		free(result->named[at]);
	}
	for (; at > 0 && result->at[at - 1] > sample; at--) {
		result->at[at] = result->at[at - 1];
		result->named[at] = result->named[at - 1];
	}
	result->at[at] = sample;
	result->named[at] = convert_broken_text(source, sample, why);
}

static void convert_count(struct convert *convert, uint32_t sample, size_t before,
			  const struct shrunk *shrunk, const struct error *broken)
{
	const struct convert_config *config = convert->config;
	struct convert_result *result = &convert->result;

	pthread_mutex_lock(&convert->lock);
	result->bytes_before += before;
	result->bytes += shrunk->size;
	if (broken->code != 0)
		convert_result_broken(result, convert->source, sample, broken);
	else
		result->resized += !shrunk->same;
	result->converted++;
	if (config->progress != NULL)
		config->progress(config->arg, result->converted, result->samples);
	pthread_mutex_unlock(&convert->lock);
}

static int convert_write_error(const struct convert *convert, int code,
			       struct error *err)
{
	return error_sys(err, -code, "cannot write into %s; what was made is removed",
			 convert->folder.name);
}

/* 0, and in *err why the sample is broken, if it is; or -errno. */
static int convert_sample(struct convert_thread *thread, uint32_t sample,
			  struct error *err)
{
	struct convert *convert = thread->convert;
	const struct convert_config *config = convert->config;
	struct shrunk shrunk = {.same = true};
	int result = sample_load(convert->source, sample, &thread->bytes, err);

	if (result < 0 && result != -ENOMEM) {
		convert_count(convert, sample, 0, &shrunk, err);
		return 0;
	}
	if (result == 0)
		result = shrinker_run(thread->shrinker, thread->bytes.bytes,
				      thread->bytes.size, config->resize,
				      config->quality, &shrunk, err);
	if (result == -ENOMEM)
		return result;
	if (result < 0)
		shrunk = (struct shrunk){thread->bytes.bytes, thread->bytes.size, true};
	result = convert_put(convert, sample, &shrunk);
	if (result < 0)
		return convert_write_error(convert, result, err);
	convert_count(convert, sample, thread->bytes.size, &shrunk, err);
	return 0;
}

static bool convert_over(const struct convert *convert)
{
	const atomic_bool *stop = convert->config->stop;

	return atomic_load(&convert->failed) || (stop != NULL && atomic_load(stop));
}

static void convert_work(void *arg)
{
	struct convert *convert = arg;
	struct convert_thread thread = {.convert = convert, .shrinker = shrinker_new()};
	struct error err = {0};

	if (thread.shrinker == NULL) {
		error_sys(&err, ENOMEM, "resizing pictures");
		convert_fail(convert, &err);
	}
	while (!convert_over(convert)) {
		uint32_t sample = (uint32_t)atomic_fetch_add(&convert->next, 1);

		err = (struct error){0};
		if (sample >= convert->result.samples)
			break;
		if (convert_sample(&thread, sample, &err) < 0)
			convert_fail(convert, &err);
	}
	shrinker_free(thread.shrinker);
	sample_bytes_fini(&thread.bytes);
}

static int convert_work_together(struct convert *convert)
{
	thread_pool_run(convert->config->threads, convert_work, convert);
	if (atomic_load(&convert->failed))
		return -convert->error.code;
	if (convert->result.converted < convert->result.samples)
		return error_set(
			&convert->error, ECANCELED,
			"stopped after %u of %u pictures; they are removed again",
			convert->result.converted, convert->result.samples);
	return 0;
}

/* ---- all ---- */

/* All of them, as their order is what numbers them, whether they have samples or not. */
static int convert_add_classes(const struct convert *convert, struct error *err)
{
	uint32_t classes = source_facts(convert->source)->classes;

	for (uint32_t i = 0; i < classes; i++) {
		const char *class = source_class(convert->source, i);

		if (mkdirat(convert->folder.fd, class, 0777) < 0 && errno != EEXIST)
			return convert_write_error(convert, -errno, err);
	}
	return 0;
}

static int convert_fill(struct convert *convert, struct error *err)
{
	uint64_t start = clock_now();
	int result = new_folder_open(&convert->folder, convert->config->to, err);

	if (result == 0) {
		pthread_mutex_init(&convert->lock, NULL);
		result = convert_add_classes(convert, &convert->error);
		if (result == 0)
			result = convert_work_together(convert);
		pthread_mutex_destroy(&convert->lock);
		/* Pages that are not on the disk yet can't be put out of the cache by a
		 * run that reads the copy. */
		if (result == 0 && syncfs(convert->folder.fd) < 0)
			result = convert_write_error(convert, -errno, &convert->error);
		convert->result.seconds = clock_since(start);
		if (result < 0) {
			convert_remove_all(convert);
			if (err != NULL)
				*err = convert->error;
		}
	}
	new_folder_close(&convert->folder);
	return result;
}

int convert_run(const struct convert_config *config, struct convert_result *result,
		struct error *err)
{
	const struct source_config indexing = {.threads = config->threads};
	struct source *source = source_open(config->from, &indexing, err);
	struct convert convert = {.config = config, .source = source};
	int status;

	*result = (struct convert_result){0};
	if (source == NULL)
		return err != NULL && err->code != 0 ? -err->code : -EIO;
	convert.result.samples = source_facts(source)->count;
	if (strcmp(source_kind(source), CONVERT_SOURCE) == 0)
		status = convert_fill(&convert, err);
	else
		status = error_set(err, ENOTSUP,
				   "only folders, one per class, can be converted, "
				   "and this is a %s data set",
				   source_kind(source));
	source_close(source);
	*result = convert.result;
	if (status < 0)
		convert_result_free(result);
	return status;
}

void convert_result_free(struct convert_result *result)
{
	for (int i = 0; i < CONVERT_NAMED; i++)
		free(result->named[i]);
	*result = (struct convert_result){0};
}
