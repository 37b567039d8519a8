/*
 * token_files.c - files of tokens, whose windows are the samples.
 *
 * The files are those of a tree or a list, or objects of a bucket or web server, and so are
 * their labels. What an index says of a file's size is a hint in 32 bits: each is asked for
 * its own, of objects those that 32 bits can't tell.
 */
#include "loader/source/token_files.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/indexed.h"
#include "loader/source/objects.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <xxhash.h>

/* ---- windows ---- */

int token_files_lay_out(struct token_files *files, struct error *err)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < files->count; i++) {
		struct token_file *file = &files->files[i];
		uint64_t tokens = file->size >> file->shift;
		uint64_t windows = tokens > 0 ? (tokens - 1) / files->length : 0;

		file->first = next;
		files->without += windows == 0;
		files->bytes += windows * token_files_window(files, file);
		next += windows;
		if (next > UINT32_MAX)
			return error_set(err, EOVERFLOW,
					 "there are more than %u windows of %u tokens: "
					 "make length larger",
					 UINT32_MAX, files->length);
	}
	files->windows = (uint32_t)next;
	return next > 0 ? 0
			: error_set(err, EINVAL,
				    "no file has the %u tokens of a window: make "
				    "length smaller",
				    files->length + 1);
}

const struct token_file *token_files_find(const struct token_files *files,
					  uint32_t window, uint64_t *offset)
{
	uint32_t low = 0, high = files->count;

	/* The last file whose first window is not behind; those without any come before. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (files->files[middle].first <= window)
			low = middle;
		else
			high = middle;
	}
	*offset = (window - files->files[low].first) * files->length
		  << files->files[low].shift;
	return &files->files[low];
}

uint32_t token_files_window(const struct token_files *files,
			    const struct token_file *file)
{
	return (files->length + 1) << file->shift;
}

/* ---- the data set ---- */

struct token_source {
	const struct source_variant *variant; /* of the files; */
	void *files;                          /* its state */
	struct token_files of;
};

static bool token_files_named(const char *path)
{
	return file_kind_has(file_kind_of("tokens"), path);
}

static uint32_t token_files_shift(const char *path, unsigned bits)
{
	const char *ending = strrchr(path, '.');

	if (ending != NULL && strcasecmp(ending, ".u16") == 0)
		return 1;
	if (ending != NULL && strcasecmp(ending, ".u32") == 0)
		return 2;
	return bits == 32 ? 2 : 1;
}

static int token_files_stat(const struct source_place *place, const char *shown,
			    uint64_t *size, struct error *err)
{
	struct stat status;

	if (fstatat(place->dir, place->path, &status, 0) < 0)
		return error_sys(err, errno, "cannot open the tokens of '%s'", shown);
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, "'%s' is no file of tokens", shown);
	*size = (uint64_t)status.st_size;
	return 0;
}

/* Of an object whose size the index can't tell. */
static int token_files_ask(const struct source_place *place, const char *shown,
			   uint64_t *size, struct error *err)
{
	const struct net_config connection = {.most = 1, .seed = clock_now()};
	struct net_get head = {.remote = place->remote,
			       .path = place->object,
			       .head = true,
			       .first = true,
			       .deadline = net_remote_deadline(place->remote)};
	struct net *net = net_open(&connection, err);
	int result = net != NULL ? net_call(net, &head, err) : -ENOENT;

	net_close(net);
	if (result == 0 && head.length == UINT64_MAX)
		result = error_set(err, EBADMSG,
				   "its server does not tell how long it is");
	*size = head.length;
	return result < 0 ? error_within(err, result, "the tokens '%s'", shown) : 0;
}

static int token_files_measure(const struct source_place *place, unsigned bits,
			       struct token_file *file, struct error *err)
{
	const char *name = place->object != NULL ? place->object : place->path;
	char shown[NAME_SHOWN];
	int result = 0;

	name_escape(name, shown, sizeof(shown));
	file->size = place->size;
	if (place->object == NULL)
		result = token_files_stat(place, shown, &file->size, err);
	else if (place->size == 0 || place->size == UINT32_MAX)
		result = token_files_ask(place, shown, &file->size, err);
	if (result < 0)
		return result;
	file->shift = token_files_shift(name, bits);
	if ((file->size & ((1u << file->shift) - 1)) == 0)
		return 0;
	return error_set(err, EINVAL,
			 "'%s' has %llu bytes, which are no whole number of tokens of "
			 "%u bits",
			 shown, (unsigned long long)file->size, 8u << file->shift);
}

static int token_files_measure_all(struct token_source *source, unsigned bits,
				   struct error *err)
{
	struct token_files *of = &source->of;

	of->files = calloc(of->count, sizeof(*of->files));
	if (of->files == NULL)
		return error_sys(err, ENOMEM, "cannot index the tokens");
	for (uint32_t i = 0; i < of->count; i++) {
		char buffer[PATH_MAX];
		struct source_place place;
		int result;

		source->variant->place(source->files, i, buffer, &place);
		result = token_files_measure(&place, bits, &of->files[i], err);
		if (result < 0)
			return result;
	}
	return token_files_lay_out(of, err);
}

/* The one file that was named, of the one class ".". */
static int token_files_build_one(const struct index_origin *origin, struct index *index,
				 struct error *err)
{
	const char *slash = strrchr(origin->dataset, '/');
	const char *name = slash != NULL ? slash + 1 : origin->dataset;
	const struct index_plan plan = {
		.folders = 1,
		.samples = 1,
		.classes = 1,
		.text = sizeof("") + sizeof(".") + strlen(name) + 1,
	};
	struct index_sample sample = {0};
	struct index_stamp stamp;
	struct stat status;
	int result;

	if (fstat(origin->dataset_fd, &status) < 0)
		return error_sys(err, errno, "cannot read the tokens");
	result = index_new(index, &plan, err);
	if (result < 0)
		return result;
	index_stamp_set(&stamp, &status);
	sample.size = index_bytes(&status);
	index_add_folder(index, "", &stamp);
	index_add_class(index, ".");
	index_add_sample(index, name, &sample);
	return 0;
}

static void *token_files_open_here(const char *dataset,
				   const struct source_config *config,
				   struct source_facts *facts, struct error *err)
{
	char folder[PATH_MAX];
	struct index_origin origin = {
		.dataset = dataset, .base_path = dataset, .own_path = dataset};
	struct stat status;

	if (stat(dataset, &status) == 0 && S_ISDIR(status.st_mode))
		return indexed_open(&origin, tree_build, config, facts, err);
	indexed_folder(dataset, folder);
	origin.base_path = folder;
	return indexed_open(&origin,
			    token_files_named(dataset) ? token_files_build_one
						       : list_build,
			    config, facts, err);
}

/* The files of this machine. */
static const struct source_variant token_files_here = {.open = token_files_open_here,
						       INDEXED};

/* What the files are a data set of. NULL: of nothing that has tokens. */
static const struct source_variant *token_files_of(const char *dataset,
						   const struct stat *status,
						   const struct source_config *config)
{
	if (source_bucket.claims(dataset, status, config))
		return &source_bucket;
	if (source_web.claims(dataset, status, config))
		return &source_web;
	return status != NULL && (S_ISDIR(status->st_mode) || S_ISREG(status->st_mode))
		       ? &token_files_here
		       : NULL;
}

static void token_files_close(void *state)
{
	struct token_source *source = state;

	if (source->files != NULL)
		source->variant->close(source->files);
	free(source->of.files);
	free(source);
}

/* Other windows are another data set. */
static uint64_t token_files_digest(const struct token_files *of, uint64_t files)
{
	uint64_t digest = XXH3_64bits_withSeed(&of->length, sizeof(of->length), files);

	for (uint32_t i = 0; i < of->count; i++) {
		const uint64_t about[] = {of->files[i].size, of->files[i].shift};

		digest = XXH3_64bits_withSeed(about, sizeof(about), digest);
	}
	return digest;
}

static void *token_files_open(const char *dataset, const struct source_config *config,
			      struct source_facts *facts, struct error *err)
{
	struct token_source *source = calloc(1, sizeof(*source));
	struct stat status;

	if (source == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot index the tokens"));
	source->variant = token_files_of(
		dataset, stat(dataset, &status) == 0 ? &status : NULL, config);
	if (source->variant != NULL)
		source->files = source->variant->open(dataset, config, facts, err);
	if (source->files == NULL)
		goto fail;
	source->of.count = facts->count;
	source->of.length = config->length;
	if (token_files_measure_all(source, config->token_bits, err) < 0)
		goto fail;
	facts->count = source->of.windows;
	facts->bytes = source->of.bytes;
	facts->ignored += source->of.without;
	facts->digest = token_files_digest(&source->of, facts->digest);
	return source;
fail:
	token_files_close(source);
	return NULL;
}

static bool token_files_claims(const char *dataset, const struct stat *status,
			       const struct source_config *config)
{
	return config->prep != NULL && strcmp(config->prep, "tokens") == 0 &&
	       token_files_of(dataset, status, config) != NULL;
}

static uint32_t token_files_number(const struct token_source *source,
				   const struct token_file *file)
{
	return (uint32_t)(file - source->of.files);
}

static uint32_t token_files_size(const void *state, uint32_t sample)
{
	const struct token_source *source = state;
	uint64_t offset;

	return token_files_window(&source->of,
				  token_files_find(&source->of, sample, &offset));
}

static uint32_t token_files_label(const void *state, uint32_t sample)
{
	const struct token_source *source = state;
	uint64_t offset;
	const struct token_file *file = token_files_find(&source->of, sample, &offset);

	return source->variant->label(source->files, token_files_number(source, file));
}

static void token_files_place(const void *state, uint32_t sample, char *buffer,
			      struct source_place *place)
{
	const struct token_source *source = state;
	uint64_t offset;
	const struct token_file *file = token_files_find(&source->of, sample, &offset);

	source->variant->place(source->files, token_files_number(source, file), buffer,
			       place);
	place->part = true;
	place->offset = offset;
	place->size = token_files_window(&source->of, file);
}

static const char *token_files_class(const void *state, uint32_t label)
{
	const struct token_source *source = state;

	return source->variant->class(source->files, label);
}

/* "books/a.bin at token 4096" */
static const char *token_files_name(const void *state, uint32_t sample, char *buffer,
				    size_t size)
{
	const struct token_source *source = state;
	char path[PATH_MAX], shown[NAME_SHOWN];
	struct source_place place;
	uint64_t offset;
	const struct token_file *file = token_files_find(&source->of, sample, &offset);

	token_files_place(source, sample, path, &place);
	if (place.object != NULL)
		source->variant->name(source->files, token_files_number(source, file),
				      shown, sizeof(shown));
	else
		name_escape(place.path, shown, sizeof(shown));
	snprintf(buffer, size, "%s at token %llu", shown,
		 (unsigned long long)(offset >> file->shift));
	return buffer;
}

static bool token_files_outdated(const void *state, uint32_t sample)
{
	const struct token_source *source = state;

	return source->variant->outdated != NULL &&
	       source->variant->outdated(source->files, sample);
}

const struct source_variant source_tokens = {
	.kind = "tokens",
	.claims = token_files_claims,
	.open = token_files_open,
	.close = token_files_close,
	.size = token_files_size,
	.label = token_files_label,
	.place = token_files_place,
	.class = token_files_class,
	.name = token_files_name,
	.outdated = token_files_outdated,
};
