/*
 * web.c - a list file on a web server: https://HOST/FOLDER/LIST.
 *
 * The list is as list.c has it. Its server tells sizes and ETags, by one HEAD for each
 * sample, and the ETag of the list itself, by which one that was kept is known again.
 */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/list.h"
#include "loader/source/objects.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { HEADS = 32, MOST_LIST = 1 << 30 };

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

/* Of the list itself. */
static int web_head(struct objects *objects, struct net_get *head, struct error *err)
{
	int result;

	*head = (struct net_get){.path = web_list_name(objects), .head = true};
	result = objects_ask(objects, head, err);
	if (result == 0 && head->length == UINT64_MAX)
		return error_set(err, EBADMSG,
				 "its server does not tell how long the list is "
				 "(Content-Length)");
	if (result == 0 && head->length > MOST_LIST)
		return error_set(err, EFBIG, "the list is longer than 1 GiB");
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
};

struct web_sizes {
	struct objects *objects;
	const struct index *list; /* without sizes */
	uint32_t *sizes;
	char **etags;
	uint32_t next, reached;
	unsigned out;
	int code;                    /* that ends it */
	struct error error, missing; /* the first of each kind */
	struct web_head heads[HEADS];
};

static void web_head_done(struct net_get *get, int result);

static void web_sizes_next(struct web_sizes *sizes, struct web_head *head)
{
	const struct index *list = sizes->list;

	if (sizes->next == list->head->samples || sizes->code != 0)
		return;
	head->sample = sizes->next++;
	head->get = (struct net_get){
		.remote = sizes->objects->remote,
		.path = list->text + list->samples[head->sample].name,
		.head = true,
		.deadline = objects_deadline(),
		.done = web_head_done,
		.context = sizes,
	};
	sizes->out++;
	net_start(sizes->objects->net, &head->get);
}

/* What is not there, or may not be read, stays in, with size 0. */
static void web_head_done(struct net_get *get, int result)
{
	struct web_head *head = (struct web_head *)get;
	struct web_sizes *sizes = get->context;
	uint64_t length = get->length < UINT32_MAX ? get->length : 0;

	sizes->out--;
	sizes->objects->requests += 1 + get->retries;
	if (result == 0) {
		sizes->reached++;
		sizes->sizes[head->sample] = (uint32_t)length;
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
		const struct index_sample sample = {.size = sizes->sizes[i],
						    .label = list->samples[i].label};

		index_add_sample(index, list->text + list->samples[i].name, &sample);
		index_add_etag(index, sizes->etags[i] != NULL ? sizes->etags[i] : "");
	}
	return 0;
}

static int web_index(struct objects *objects, const struct index *list,
		     const struct index_stamp *stamp, struct error *err)
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
		result = web_fill(sizes, stamp, &objects->index, err);
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

static int web_list(struct objects *objects, const struct source_config *config,
		    struct error *err)
{
	struct index_stamp stamp = {0};
	struct index list = {0};
	char *text = NULL;
	size_t size;
	int result = web_read(objects, &text, &size, &stamp, err);

	(void)config;
	if (result == 0)
		result = list_parse(text, size, web_list_name(objects), &stamp, &list,
				    err);
	free(text);
	if (result == 0)
		result = web_index(objects, &list, &stamp, err);
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

static void *web_open(const char *dataset, const struct source_config *config,
		      struct source_facts *facts, struct error *err)
{
	static const struct objects_how how = {web_list, web_check};
	struct net_remote *remote = net_remote_web(dataset, err);
	struct objects *objects;
	char *name;

	if (remote == NULL)
		return NULL;
	name = strdup(strrchr(dataset, '/') + 1);
	objects = objects_open(dataset, remote, name, &how, config, facts, err);
	if (objects != NULL)
		objects->prefix[0] = '\0'; /* paths start at the folder */
	return objects;
}

const struct source_variant source_web = {
	.kind = "web", .claims = web_claims, .open = web_open, OBJECTS};
