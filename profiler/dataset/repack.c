/* repack.c - fills files with samples in several threads, each file in one. */
#include "profiler/dataset/repack.h"
#include "loader/audio.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
#include "loader/base/thread_pool.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/dataset/new_folder.h"
#include "profiler/dataset/sample_file.h"
#include "profiler/dataset/sample_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN ".dsa-convert"

enum {
	PATH_LEN = 512,
	PLAN_LEN = 1024,
	MOST_WORD = 256, /* bytes of a label that shards may have, and its 0 */
};

struct repack {
	const struct repack_config *config;
	const struct source *source;
	struct new_folder folder;
	uint32_t *first; /* sample of each file, and the end */
	uint32_t files;
	bool *left_out;            /* of each sample: a file that is there lacks it */
	bool numbered;             /* shard_sample.numbered */
	atomic_uint_fast32_t next; /* file to begin */
	atomic_bool failed;

	pthread_mutex_t lock; /* guards what follows */
	struct convert_result result;
	struct archive plan; /* a line of what is made, and of each sample left out */
	size_t plan_put;     /* bytes of it that are in the folder */
	struct error error;  /* the first one */
};

static void repack_fail(struct repack *repack, const struct error *err)
{
	pthread_mutex_lock(&repack->lock);
	if (!atomic_exchange(&repack->failed, true))
		repack->error = *err;
	pthread_mutex_unlock(&repack->lock);
}

static bool repack_over(const struct repack *repack)
{
	const atomic_bool *stop = repack->config->stop;

	return atomic_load(&repack->failed) || (stop != NULL && atomic_load(stop));
}

/* What a recording is called as a file, by how it begins; NULL: not known. */
static const char *repack_recording(const struct sample_bytes *bytes)
{
	static const struct {
		const char *ending, *begins;
	} kinds[] = {{"wav", "RIFF"},
		     {"wav", "RIFX"},
		     {"wav", "RF64"},
		     {"flac", "fLaC"},
		     {"ogg", "OggS"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (bytes->size > 4 && memcmp(bytes->bytes, kinds[i].begins, 4) == 0)
			return kinds[i].ending;
	return NULL;
}

static void repack_path(const struct repack *repack, uint32_t file, const char *ending,
			char path[PATH_LEN])
{
	const struct source *source = repack->source;

	if (repack->config->form != NULL)
		shard_form_path(repack->config->form, file, path);
	else
		snprintf(path, PATH_LEN, "%s/%06u.%s",
			 source_class(source, source_label(source, file)), file,
			 ending);
}

/* A file that an earlier call made. */
static bool repack_there(const struct repack *repack, uint32_t file,
			 struct stat *status)
{
	static const char *const endings[] = {"jpg", "wav", "flac", "ogg"};
	char path[PATH_LEN];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		repack_path(repack, file, endings[i], path);
		if (fstatat(repack->folder.fd, path, status, 0) == 0)
			return true;
	}
	return false;
}

/* ---- the plan ---- */

static int repack_add_line(struct repack *repack, const char *line)
{
	size_t size = strlen(line);
	uint8_t *room = archive_more(&repack->plan, size);

	if (room == NULL)
		return -ENOMEM;
	memcpy(room, line, size);
	return 0;
}

/* Counts a sample, and names it in the plan, so that a call which finds its file there does
 * so, too. A folder per class has no file for it, and asks for it again. */
static int repack_leave_out(struct repack *repack, uint32_t sample,
			    const struct error *why)
{
	char line[sizeof(why->message) + 16];

	convert_result_broken(&repack->result, repack->source, sample, why);
	if (repack->config->form == NULL)
		return 0;
	snprintf(line, sizeof(line), "%u %s\n", sample, why->message);
	return repack_add_line(repack, line);
}

/* What was added to it, before a file gets its name. */
static int repack_put_plan(struct repack *repack)
{
	const struct archive *plan = &repack->plan;
	int result = 0;

	pthread_mutex_lock(&repack->lock);
	if (repack->plan_put < plan->size)
		result = new_folder_put_proven(&repack->folder, PLAN, plan->bytes,
					       plan->size);
	if (result == 0)
		repack->plan_put = plan->size;
	pthread_mutex_unlock(&repack->lock);
	return result;
}

/* ---- one file ---- */

/* Pictures are taken as they are, recordings if their header can be read. */
static int repack_check(const struct repack *repack, const struct sample_bytes *bytes,
			const char **ending, struct error *err)
{
	const struct prep_recording recording = {.bytes = bytes->bytes,
						 .size = bytes->size};
	struct audio_info info;

	*ending = repack->result.audio ? repack_recording(bytes) : "jpg";
	if (bytes->size == 0)
		return error_set(err, EBADMSG, "is empty");
	if (!repack->result.audio)
		return 0;
	if (*ending == NULL)
		return error_set(err, EBADMSG, "is no wav, flac or ogg");
	return prep_recording(&recording, &info, err);
}

/* A server has the object, and whoever asks may not read it: with other credentials, the copy
 * would have it. *why names the sample then. */
static bool repack_refused(const struct repack *repack, uint32_t sample,
			   struct error *why)
{
	char name[NAME_SHOWN];

	if (why->code != EACCES || !source_facts(repack->source)->remote)
		return false;
	error_within(why, -EACCES, "%s",
		     source_name(repack->source, sample, name, sizeof(name)));
	return true;
}

/* A sample that can't be read is left out, unless those after it can't be either. */
static int repack_broken(struct repack *repack, uint32_t sample, struct error *why)
{
	struct error err = {0};
	int result;

	if (why->code == ENOENT || why->code == ESTALE)
		source_outdated(repack->source, sample);
	if (sample_file_is_lost(repack->source, sample, why) ||
	    repack_refused(repack, sample, why)) {
		error_set(&err, why->code, "%s; the same command goes on from here",
			  why->message);
		repack_fail(repack, &err);
		return -ECANCELED;
	}
	pthread_mutex_lock(&repack->lock);
	result = repack_leave_out(repack, sample, why);
	pthread_mutex_unlock(&repack->lock);
	return result;
}

static int repack_add(struct repack *repack, uint32_t sample,
		      const struct sample_bytes *bytes, const char *ending,
		      struct archive *archive)
{
	const struct shard_form *form = repack->config->form;
	uint32_t label = source_label(repack->source, sample);
	const struct shard_sample added = {
		.number = sample,
		.label = label,
		.numbered = repack->numbered,
		.class = source_class(repack->source, label),
		.ending = ending,
		.bytes = bytes->bytes,
		.size = bytes->size,
	};
	uint8_t *room;

	if (form != NULL)
		return form->add(archive, &added);
	room = archive_more(archive, bytes->size);
	if (room == NULL)
		return -ENOMEM;
	memcpy(room, bytes->bytes, bytes->size);
	return 0;
}

/* The samples of a file. *ending: of the last one that could be read; NULL: none. */
static int repack_fill(struct repack *repack, uint32_t file, struct sample_bytes *bytes,
		       struct archive *archive, const char **ending)
{
	for (uint32_t i = repack->first[file]; i < repack->first[file + 1]; i++) {
		struct error err = {0};
		const char *own;
		int result;

		if (repack_over(repack))
			return -ECANCELED;
		result = sample_load(repack->source, i, bytes, &err);
		if (result == 0)
			result = repack_check(repack, bytes, &own, &err);
		if (result == 0) {
			result = repack_add(repack, i, bytes, own, archive);
			*ending = own;
		} else if (repack_over(repack)) {
			return -ECANCELED;
		} else if (result != -ENOMEM) {
			result = repack_broken(repack, i, &err);
		}
		if (result < 0)
			return result;
	}
	return repack->config->form != NULL ? repack->config->form->end(archive) : 0;
}

static void repack_count(struct repack *repack, uint32_t file, size_t bytes, bool there)
{
	const struct repack_config *config = repack->config;
	struct convert_result *result = &repack->result;
	uint32_t samples = repack->first[file + 1] - repack->first[file];

	pthread_mutex_lock(&repack->lock);
	result->converted += samples;
	for (uint32_t i = repack->first[file]; there && i < repack->first[file + 1];
	     i++)
		result->resized += !repack->left_out[i];
	result->bytes += bytes;
	if (config->progress != NULL)
		config->progress(config->arg, result->converted, result->samples);
	pthread_mutex_unlock(&repack->lock);
}

static int repack_file(struct repack *repack, uint32_t file, struct sample_bytes *bytes)
{
	struct archive archive = {0};
	struct stat status;
	const char *ending = NULL;
	char path[PATH_LEN];
	int result;

	if (repack_there(repack, file, &status)) {
		repack_count(repack, file, (size_t)status.st_size, true);
		return 0;
	}
	result = repack_fill(repack, file, bytes, &archive, &ending);
	if (result == 0 && ending != NULL) {
		repack_path(repack, file, ending, path);
		result = repack_put_plan(repack);
		if (result == 0)
			result = new_folder_put_proven(&repack->folder, path,
						       archive.bytes, archive.size);
	}
	if (result == 0)
		repack_count(repack, file, archive.size, false);
	free(archive.bytes);
	return result;
}

static void repack_work(void *context)
{
	struct repack *repack = context;
	struct sample_bytes bytes = {.stop = repack->config->stop};

	while (!repack_over(repack)) {
		uint_fast32_t file = atomic_fetch_add(&repack->next, 1);
		struct error err = {0};
		int result;

		if (file >= repack->files)
			break;
		result = repack_file(repack, (uint32_t)file, &bytes);
		if (result == 0 || result == -ECANCELED)
			continue;
		error_sys(&err, -result,
			  "cannot write into %s; the same command goes on "
			  "from here",
			  repack->folder.name);
		repack_fail(repack, &err);
	}
	sample_bytes_fini(&bytes);
}

/* ---- all of them ---- */

/* Where each file begins: known from the index alone, so that a second run has the same
 * files. */
static int repack_plan(struct repack *repack)
{
	uint32_t count = source_count(repack->source);
	double bytes = 0;

	repack->first = calloc((size_t)count + 1, sizeof(*repack->first));
	repack->left_out = calloc(count, sizeof(*repack->left_out));
	if (repack->first == NULL || repack->left_out == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = source_size(repack->source, i);

		if (i == 0 || repack->config->form == NULL ||
		    bytes + size > repack->config->shard_size) {
			repack->first[repack->files++] = i;
			bytes = 0;
		}
		bytes += size;
	}
	repack->first[repack->files] = count;
	return 0;
}

/* Whether a name is a word where labels are read, which are stripped of blanks. */
static bool repack_is_word(const char *name)
{
	static const char blanks[] = " \t\r\n";
	size_t length = strlen(name);
	uint64_t value;

	return length > 0 && length < MOST_WORD && strchr(blanks, name[0]) == NULL &&
	       strchr(blanks, name[length - 1]) == NULL &&
	       !number_whole(name, UINT64_MAX, &value);
}

/* Whether the names of the samples' classes, read as labels, would be other numbers. */
static bool repack_needs_numbers(const struct source *source)
{
	uint32_t classes = source_facts(source)->classes, count = source_count(source);
	uint32_t used = 0;
	bool *seen = calloc(classes, sizeof(*seen)), words = seen != NULL;

	for (uint32_t i = 0; words && i < count; i++) {
		used += !seen[source_label(source, i)];
		seen[source_label(source, i)] = true;
	}
	for (uint32_t i = 0; words && i < classes; i++)
		words = repack_is_word(source_class(source, i)) &&
			(i == 0 || strcmp(source_class(source, i - 1),
					  source_class(source, i)) < 0);
	free(seen);
	return !words || used < classes;
}

/* What is made, in a line. */
static void repack_describe(const struct repack *repack, char text[PLAN_LEN])
{
	const struct shard_form *form = repack->config->form;
	const struct source_facts *facts = source_facts(repack->source);

	snprintf(text, PLAN_LEN,
		 "dsa dataset convert: %s of %.0f bytes from %016llx%s %s\n",
		 form != NULL ? form->ending : "tree",
		 form != NULL ? repack->config->shard_size : 0,
		 (unsigned long long)facts->digest,
		 form == &shard_form_tar && repack->numbered ? " with numbers" : "",
		 facts->features != NULL ? facts->features : "");
}

/* The plan that is there, to be freed. NULL: none. */
static char *repack_read_plan(const struct repack *repack)
{
	int fd = openat(repack->folder.fd, PLAN, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0)
		text = calloc(1, (size_t)status.st_size + 1);
	if (text != NULL && io_read(fd, text, (size_t)status.st_size) < 0) {
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

/* The file that a sample is in. */
static uint32_t repack_file_of(const struct repack *repack, uint32_t sample)
{
	uint32_t file = 0;

	while (repack->first[file + 1] <= sample)
		file++;
	return file;
}

/* A line of a sample: "7 is empty". It counts if its file is there; others are made anew. */
static int repack_take_line(struct repack *repack, const char *line)
{
	struct error why = {0};
	struct stat status;
	char *text;
	unsigned long sample = strtoul(line, &text, 10);

	if (text == line || *text != ' ' || sample >= repack->result.samples ||
	    repack->left_out[sample] ||
	    !repack_there(repack, repack_file_of(repack, (uint32_t)sample), &status))
		return 0;
	repack->left_out[sample] = true;
	error_set(&why, EBADMSG, "%s", text + 1);
	return repack_leave_out(repack, (uint32_t)sample, &why);
}

/* What the plan says that is there: 0, or -ENOTEMPTY if the folder was begun for another. */
static int repack_go_on(struct repack *repack, const char *plan)
{
	char *text = repack_read_plan(repack), *rest = NULL, *line;
	size_t size = strlen(plan);
	int result = 0;

	if (text == NULL || strncmp(text, plan, size) != 0)
		result = -ENOTEMPTY;
	else
		rest = text + size;
	while (result == 0 && (line = strsep(&rest, "\n")) != NULL)
		result = repack_take_line(repack, line);
	free(text);
	return result;
}

/* All of them, as their order is what numbers them, whether they have samples or not. */
static int repack_add_folders(const struct repack *repack, struct error *err)
{
	uint32_t classes = source_facts(repack->source)->classes;

	for (uint32_t i = 0; i < classes; i++) {
		const char *class = source_class(repack->source, i);
		char shown[NAME_SHOWN];

		if (i > 0 && strcmp(source_class(repack->source, i - 1), class) >= 0)
			return error_set(err, EINVAL,
					 "the labels are numbers, and folders have the "
					 "order of their names: convert it to tar or "
					 "tfrecord (--format)");
		if (class[0] == '.' || strchr(class, '/') != NULL ||
		    strlen(class) >= PATH_LEN / 2)
			return error_set(err, EINVAL,
					 "the class '%s' can't be a folder: convert it "
					 "to tar or tfrecord (--format)",
					 name_escape(class, shown, sizeof(shown)));
		if (mkdirat(repack->folder.fd, class, 0777) < 0 && errno != EEXIST)
			return error_sys(err, errno, "cannot make a folder in %s",
					 repack->folder.name);
	}
	return 0;
}

/* A plan that was not whole when a call before this one was killed means nothing. */
static int repack_open_folder(struct repack *repack, struct error *err)
{
	struct new_folder *folder = &repack->folder;
	int result = new_folder_open(folder, repack->config->to, err);

	if (result != -ENOTEMPTY || unlinkat(folder->fd, PLAN NEW_FOLDER_TEMP, 0) < 0)
		return result;
	new_folder_close(folder);
	if (err != NULL)
		*err = (struct error){0};
	return new_folder_open(folder, repack->config->to, err);
}

static int repack_open(struct repack *repack, struct error *err)
{
	int opened = repack_open_folder(repack, err), result;
	char plan[PLAN_LEN];

	if (opened < 0 && opened != -ENOTEMPTY)
		return opened;
	repack_describe(repack, plan);
	result = repack_add_line(repack, plan);
	if (result == 0 && opened < 0)
		result = repack_go_on(repack, plan);
	if (result == -ENOTEMPTY)
		return result;
	if (result == 0)
		result = repack_put_plan(repack);
	if (result < 0)
		return error_sys(err, -result, "cannot write into %s",
				 repack->folder.name);
	return repack->config->form == NULL ? repack_add_folders(repack, err) : 0;
}

static int repack_work_together(struct repack *repack, struct error *err)
{
	const struct convert_result *result = &repack->result;

	thread_pool_run(repack->config->threads, repack_work, repack);
	if (atomic_load(&repack->failed))
		return error_set(err, repack->error.code, "%s", repack->error.message);
	if (result->converted < result->samples)
		return error_set(err, ECANCELED,
				 "stopped after %u of %u samples; the same command "
				 "goes on from there",
				 result->converted, result->samples);
	if (result->broken == result->samples)
		return error_set(err, EBADMSG,
				 "none of its %u samples can be read, as %s",
				 result->samples, result->named[0]);
	if (unlinkat(repack->folder.fd, PLAN, 0) < 0 || syncfs(repack->folder.fd) < 0)
		return error_sys(err, errno, "cannot write into %s",
				 repack->folder.name);
	return 0;
}

int repack_run(const struct repack_config *config, struct convert_result *result,
	       struct error *err)
{
	const struct source_config indexing = {.threads = config->threads,
					       .prep = config->prep,
					       .length = 1,
					       .image_feature = config->image_feature,
					       .label_feature = config->label_feature,
					       .relist = true};
	enum sample_kind kind;
	struct source *source = sample_source_open(config->from, &indexing, &kind, err);
	struct repack repack = {.config = config,
				.source = source,
				.folder.fd = -1,
				.lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t start = clock_now();
	int status;

	*result = (struct convert_result){0};
	if (source == NULL)
		return err != NULL && err->code != 0 ? -err->code : -EIO;
	repack.result.samples = source_count(source);
	repack.result.bytes_before = source_facts(source)->bytes;
	repack.result.audio = kind == SAMPLE_AUDIO;
	repack.numbered = repack_needs_numbers(source);
	status = repack_plan(&repack);
	if (status < 0)
		error_sys(err, -status, "cannot convert the data set");
	if (kind == SAMPLE_TOKENS)
		status = error_set(err, ENOTSUP,
				   "tokens stay as they are: files of 16 or 32 bits "
				   "have no other form");
	if (status == 0)
		status = repack_open(&repack, err);
	if (status == 0)
		status = repack_work_together(&repack, err);
	repack.result.seconds = clock_since(start);
	new_folder_close(&repack.folder);
	free(repack.first);
	free(repack.left_out);
	free(repack.plan.bytes);
	source_close(source);
	*result = repack.result;
	if (status < 0)
		convert_result_free(result);
	return status;
}
