/*
 * web.c - a list file on a web server: https://HOST/FOLDER/LIST.
 *
 * The list is as list.c has it. Its server tells sizes and ETags, by one HEAD for each
 * sample, and the ETag of the list itself, by which one that was kept is known again.
 *
 * A list whose first line is the name of a shard, and no label, is one of shards.
 */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/list.h"
#include "loader/source/objects_shards.h"
#include "loader/source/shard_kinds.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { HEADS = 32, MOST_LIST = 256 << 20 };

/* The part of the URL behind the folder: in prefix until the list is read. */
static const char *web_list_name(const struct objects *objects)
{
	return objects->prefix;
}

static uint64_t web_hash(const struct net_get *get)
{
	return XXH3_64bits_withSeed(get->found_etag, strlen(get->found_etag),
				    get->length);
}

/* Asks a server that does not tell a length by HEAD for the first byte: then it says, which
 * part of how much that is. Of what is empty there is no part. */
static struct net_get web_first_byte(const char *path, unsigned char *byte)
{
	return (struct net_get){.path = path, .body = byte, .room = 1, .part = true};
}

/* Of the list itself. */
static int web_head(struct objects *objects, struct net_get *head, struct error *err)
{
	unsigned char byte;
	int result;

	*head = (struct net_get){.path = web_list_name(objects), .head = true};
	result = objects_ask(objects, head, err);
	if (result == 0 && head->length == UINT64_MAX) {
		*head = web_first_byte(web_list_name(objects), &byte);
		result = objects_ask(objects, head, err);
	}
	if (result == 0 && head->length == UINT64_MAX)
		return error_set(err, EBADMSG,
				 "its server does not tell how long the list is, by "
				 "Content-Length or Content-Range");
	if (result == 0 && head->length > MOST_LIST)
		return error_set(err, EFBIG,
				 "the list is longer than 256 MiB: make several, or "
				 "shards");
	return result;
}

/* 0: the list is the one that was kept. */
static int web_check(struct objects *objects, struct error *err)
{
	struct net_get head;
	int result = web_head(objects, &head, err);

	if (result < 0)
		return result;
	return head.found_etag[0] == '\0' ||
	       objects->index.folders[0].stamp.inode != web_hash(&head);
}

/* ---- sizes and ETags ---- */

struct web_head {
	struct net_get get;
	uint32_t sample;
	unsigned char byte;
};

struct web_sizes {
	struct objects *objects;
	const struct index *list; /* without sizes */
	uint64_t *sizes;
	char **etags; /* NULL: not there */
	uint32_t next, reached;
	unsigned out;
	int code;                    /* that ends it */
	struct error error, missing; /* the first of each kind */
	struct web_head heads[HEADS];
};

static void web_head_done(struct net_get *get, int result);

static void web_head_start(struct web_sizes *sizes, struct web_head *head,
			   const struct net_get *get)
{
	head->get = *get;
	head->get.remote = sizes->objects->remote;
	head->get.deadline = net_remote_deadline(head->get.remote);
	head->get.done = web_head_done;
	head->get.context = sizes;
	sizes->out++;
	net_start(sizes->objects->net, &head->get);
}

/* A size that HEAD does not tell. True: it is asked for in another way. */
static bool web_head_again(struct web_sizes *sizes, struct web_head *head)
{
	struct net_get get = web_first_byte(head->get.path, &head->byte);

	if (!head->get.head || head->get.length < UINT64_MAX)
		return false;
	web_head_start(sizes, head, &get);
	return true;
}

static void web_sizes_next(struct web_sizes *sizes, struct web_head *head)
{
	const struct index *list = sizes->list;
	struct net_get get = {.head = true};

	if (sizes->next == list->head->samples || sizes->code != 0)
		return;
	head->sample = sizes->next++;
	get.path = list->text + list->samples[head->sample].name;
	web_head_start(sizes, head, &get);
}

/* What is not there, or may not be read, stays in, with size 0. */
static void web_head_done(struct net_get *get, int result)
{
	struct web_head *head = (struct web_head *)get;
	struct web_sizes *sizes = get->context;

	sizes->out--;
	sizes->objects->requests += 1 + get->retries;
	if (result == 0 && web_head_again(sizes, head))
		return;
	if (result == 0 && get->length == UINT64_MAX)
		result = error_set(&get->error, EBADMSG,
				   "its server does not tell how long a file is, by "
				   "Content-Length or Content-Range");
	if (result == -ESTALE && get->part) { /* it is empty */
		get->length = 0;
		result = 0;
	}
	if (result == 0) {
		sizes->reached++;
		sizes->sizes[head->sample] = get->length;
		sizes->etags[head->sample] = strdup(get->found_etag);
		if (sizes->etags[head->sample] == NULL)
			sizes->code =
				error_sys(&sizes->error, ENOMEM, "cannot index it");
	} else if (result == -ENOENT || result == -EACCES) {
		if (sizes->missing.code == 0)
			sizes->missing = get->error;
	} else if (sizes->code == 0) {
		sizes->code = result;
		sizes->error = get->error;
	}
	web_sizes_next(sizes, head);
}

static int web_sizes_ask(struct web_sizes *sizes, struct error *err)
{
	const struct index *list = sizes->list;
	char first[NAME_SHOWN / 2];

	for (unsigned i = 0; i < HEADS; i++)
		web_sizes_next(sizes, &sizes->heads[i]);
	while (sizes->out > 0)
		net_wait(sizes->objects->net, UINT64_C(1000000000));
	if (sizes->code != 0) {
		*err = sizes->error;
		return sizes->code;
	}
	if (sizes->reached > 0)
		return 0;
	return error_set(
		err, sizes->missing.code,
		"none of its files is there; paths start at its folder; the "
		"first is '%s': %.80s",
		name_escape(list->text + list->samples[0].name, first, sizeof(first)),
		sizes->missing.message);
}

/* The list's index again, with what its server told. */
static int web_fill(const struct web_sizes *sizes, const struct index_stamp *stamp,
		    struct index *index, struct error *err)
{
	const struct index *list = sizes->list;
	const struct index_head *head = list->head;
	struct index_plan plan = {
		.folders = 1,
		.samples = head->samples,
		.classes = head->classes,
		.text = head->text,
	};
	int result;

	for (uint32_t i = 0; i < head->samples; i++)
		plan.text +=
			(sizes->etags[i] != NULL ? strlen(sizes->etags[i]) : 0) + 1;
	result = index_new(index, &plan, err);
	if (result < 0)
		return result;
	index_add_folder(index, "", stamp);
	for (uint32_t i = 0; i < head->classes; i++)
		index_add_class(index, list->text + list->classes[i]);
	for (uint32_t i = 0; i < head->samples; i++) {
		const struct index_sample sample = {
			.size = sizes->sizes[i] < UINT32_MAX ? (uint32_t)sizes->sizes[i]
							     : 0,
			.label = list->samples[i].label,
		};

		index_add_sample(index, list->text + list->samples[i].name, &sample);
		index_add_etag(index, sizes->etags[i] != NULL ? sizes->etags[i] : "");
	}
	return 0;
}

/* Every one must be there. */
static int web_fill_shards(const struct web_sizes *sizes,
			   const struct index_stamp *stamp,
			   const struct source_config *config, struct error *err)
{
	struct objects *objects = sizes->objects;
	const struct index *list = sizes->list;
	uint32_t count = list->head->samples;
	struct objects_shard *shards = calloc(count, sizeof(*shards));
	int result = 0;

	if (shards == NULL)
		return error_sys(err, ENOMEM, "cannot index the shards");
	if (sizes->reached < count)
		result = error_set(
			err, sizes->missing.code, "%u of %u shards can't be had: %s",
			count - sizes->reached, count, sizes->missing.message);
	for (uint32_t i = 0; i < count; i++)
		shards[i] = (struct objects_shard){
			.name = list->text + list->samples[i].name,
			.etag = sizes->etags[i],
			.size = sizes->sizes[i],
		};
	objects->prefix[0] = '\0'; /* the list is read */
	if (result == 0)
		result = objects_shards_index(objects, shards, count, 0, config, err);
	if (result == 0)
		objects->index.folders[0].stamp = *stamp;
	free(shards);
	return result;
}

/* config: of shards; NULL: of samples. */
static int web_index(struct objects *objects, const struct index *list,
		     const struct index_stamp *stamp,
		     const struct source_config *config, struct error *err)
{
	uint32_t count = list->head->samples;
	struct web_sizes *sizes = calloc(1, sizeof(*sizes));
	int result = -ENOMEM;

	if (sizes == NULL)
		return error_sys(err, ENOMEM, "cannot index it");
	sizes->objects = objects;
	sizes->list = list;
	sizes->sizes = calloc(count, sizeof(*sizes->sizes));
	sizes->etags = calloc(count, sizeof(*sizes->etags));
	if (sizes->sizes != NULL && sizes->etags != NULL)
		result = web_sizes_ask(sizes, err);
	else
		error_sys(err, ENOMEM, "cannot index it");
	if (result == 0)
		result = config != NULL ? web_fill_shards(sizes, stamp, config, err)
					: web_fill(sizes, stamp, &objects->index, err);
	for (uint32_t i = 0; sizes->etags != NULL && i < count; i++)
		free(sizes->etags[i]);
	free(sizes->etags);
	free(sizes->sizes);
	free(sizes);
	return result;
}

/* ---- the list ---- */

static int web_read(struct objects *objects, char **text, size_t *size,
		    struct index_stamp *stamp, struct error *err)
{
	struct net_get head, get;
	int result = web_head(objects, &head, err);

	if (result < 0)
		return result;
	*size = (size_t)head.length;
	*text = *size <= MOST_LIST ? malloc(*size + 1) : NULL;
	if (*text == NULL)
		return error_sys(err, ENOMEM, "cannot read the list");
	get = (struct net_get){
		.path = web_list_name(objects),
		.etag = head.found_etag,
		.body = (unsigned char *)*text,
		.room = *size,
		.exact = true,
	};
	result = objects_ask(objects, &get, err);
	(*text)[*size] = '\0';
	stamp->inode = web_hash(&head);
	return result;
}

/* Calls a line a shard, without the blanks at its end. */
static bool web_is_shard(const char *line, size_t size)
{
	char name[PATH_MAX];

	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	if (size >= sizeof(name) || memchr(line, '\0', size) != NULL)
		return false;
	memcpy(name, line, size);
	name[size] = '\0';
	return name[0] != '#' && shard_kind_of(name) != NULL;
}

/* If the list is one of shards, gives each the label "0", as list_parse() wants one: in a
 * text of its own, which takes the place of *text. 1, 0 or -ENOMEM. With its line break a
 * name has 5 bytes at least, and grows by 2. */
static int web_label_shards(char **text, size_t *size)
{
	const char *end = *text + *size;
	char *longer = malloc(*size / 2 * 3 + 5), *to = longer;
	bool shards = false;

	if (longer == NULL)
		return -ENOMEM;
	if (memchr(*text, '\0', *size) != NULL) /* list_parse() says so */
		end = *text;
	for (const char *line = *text; line < end;) {
		size_t length = strcspn(line, "\n");

		memcpy(to, line, length);
		to += length;
		if (web_is_shard(line, length)) {
			shards = true;
			*to++ = ' ';
			*to++ = '0';
		} else if (!shards && line[strspn(line, " \t\r")] != '\n' &&
			   *line != '#') {
			break;
		}
		*to++ = '\n';
		line += length + 1;
	}
	*to = '\0';
	if (!shards) {
		free(longer);
		return 0;
	}
	free(*text);
	*text = longer;
	*size = (size_t)(to - longer);
	return 1;
}

static int web_list(struct objects *objects, const struct source_config *config,
		    struct error *err)
{
	struct index_stamp stamp = {0};
	struct index list = {0};
	char *text = NULL;
	bool shards = false;
	size_t size;
	int result = web_read(objects, &text, &size, &stamp, err);

	if (result == 0 && text != NULL)
		result = web_label_shards(&text, &size);
	if (result == -ENOMEM && text != NULL)
		error_sys(err, ENOMEM, "cannot read the list");
	shards = result > 0;
	if (result >= 0)
		result = list_parse(text, size, web_list_name(objects), &stamp, &list,
				    err);
	free(text);
	if (result == 0)
		result = web_index(objects, &list, &stamp, shards ? config : NULL, err);
	index_free(&list);
	return result;
}

static bool web_claims(const char *dataset, const struct stat *status,
		       const struct source_config *config)
{
	(void)status;
	(void)config;
	return strncmp(dataset, "http://", 7) == 0 ||
	       strncmp(dataset, "https://", 8) == 0;
}

/* A host knows no capitals, and a scheme's own port goes without saying. */
static void web_spell(const char *dataset, char *name, size_t size)
{
	const char *host = strstr(dataset, "://") + 3;
	size_t length = strcspn(host, "/"), whole = (size_t)(host - dataset) + length;
	const char *port = memchr(host, ':', length);
	const char *usual = dataset[4] == ':' ? ":80" : ":443";
	size_t end = whole;

	if (port != NULL && (size_t)(host + length - port) == strlen(usual) &&
	    strncmp(port, usual, strlen(usual)) == 0)
		end = (size_t)(port - dataset);
	snprintf(name, size, "%.*s%s", (int)end, dataset, dataset + whole);
	for (size_t i = 0; i < end && name[i] != '\0'; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
}

static bool web_is_tokens(const char *dataset, const struct source_config *config)
{
	const struct file_kind *kind = file_kind_of(config->prep);

	return kind == file_kind_of("tokens") && file_kind_has(kind, dataset);
}

static void *web_open(const char *dataset, const struct source_config *config,
		      struct source_facts *facts, struct error *err)
{
	static const struct objects_how how = {web_list, web_check};
	struct objects_where where = {.remote = net_remote_web(dataset, err)};
	struct objects *objects;

	if (where.remote == NULL)
		return NULL;
	if (shard_kind_of(strrchr(dataset, '/') + 1) != NULL ||
	    web_is_tokens(dataset, config)) {
		net_remote_close(where.remote);
		return error_null(error_set(
			err, EINVAL,
			"shards and tokens on a web server need a list: give the URL "
			"of a "
			"file with the name of one in each line%s",
			web_is_tokens(dataset, config) ? ", and its label" : ""));
	}
	where.prefix = strdup(strrchr(dataset, '/') + 1);
	if (where.prefix != NULL)
		net_url_decode(where.prefix, false);
	objects = objects_open(dataset, &where, &how, config, facts, err);
	if (objects != NULL)
		objects->prefix[0] = '\0'; /* paths start at the folder */
	return objects;
}

const struct source_variant source_web = {.kind = "web",
					  .claims = web_claims,
					  .spell = web_spell,
					  .open = web_open,
					  OBJECTS};
