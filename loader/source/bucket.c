/*
 * bucket.c - a bucket as a tree of folders: s3://BUCKET/PREFIX.
 *
 * A listing comes in pages of keys in the order of their bytes, which is the order of
 * paths that a tree's samples have, and its rules hold here: see tree.c. Keys that don't
 * ascend would let a listing have no end, so they are refused.
 *
 * Shards in it are found as on disk: by the name of one, by a pattern, or below a prefix
 * that has neither folders nor pictures beside them.
 */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/objects_shards.h"
#include "loader/source/shard_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PAGE = 1000,         /* keys of a page */
	PAGE_ROOM = 8 << 20, /* its bytes, with keys as long as they may be */
	MOST_QUERY = 8192,
	EMPTY_PAGES = 1000, /* in a row */
	MOST_KEYS = 50000000,
	MOST_PAGES = 4 * (MOST_KEYS / PAGE), /* servers may fill them in part */
	BUCKET_NAME = NAME_SHOWN * 3,
};

static const char scheme[] = "s3://";

/* The query of a page, sorted as signatures want it. */
static int bucket_query(const struct objects *objects, const char *token, unsigned most,
			char query[MOST_QUERY])
{
	size_t used = 0;
	char end[32];

	query[0] = '\0';
	if (*token != '\0') {
		used = (size_t)snprintf(query, MOST_QUERY, "continuation-token=");
		used = net_url_encode(query, MOST_QUERY, used, token, 0);
		used += (size_t)snprintf(query + used, MOST_QUERY - used, "&");
	}
	snprintf(end, sizeof(end), "%u", most);
	used += (size_t)snprintf(
		query + used, MOST_QUERY - used,
		"encoding-type=url&list-type=2&max-keys=%s&prefix=", end);
	used = net_url_encode(query, MOST_QUERY, used, objects->prefix, 0);
	if (objects->shards != NULL) {
		char begin[NET_KEY];

		snprintf(begin, sizeof(begin), "%.*s",
			 (int)shards_common(objects->shards), objects->shards);
		used = net_url_encode(query, MOST_QUERY, used, begin, 0);
	}
	return used < MOST_QUERY ? 0 : -ENAMETOOLONG;
}

/* Asks for a page, of *size bytes in the end. */
static int bucket_ask(struct objects *objects, const char *token, unsigned most,
		      unsigned char *body, size_t *size, struct error *err)
{
	char query[MOST_QUERY];
	struct net_get get = {.query = query, .body = body, .room = PAGE_ROOM};
	int result = bucket_query(objects, token, most, query);

	*size = 0;
	if (result < 0)
		return error_set(err, -result, "the prefix is too long");
	result = objects_ask(objects, &get, err);
	*size = get.got;
	return result == -ENOENT
		       ? error_set(err, ENOENT, "there is no such bucket at %s",
				   net_remote_url(objects->remote))
		       : result;
}

/* What a listing tells, sorted out twice. */
struct bucket_keys {
	struct keys files;
	struct keys shards; /* archives in no folder count alone */
};

static int bucket_take(void *context, const char *key, size_t length, uint64_t size,
		       const char *etag)
{
	struct bucket_keys *keys = context;
	int result = keys_add(&keys->files, key, length, size, etag);

	size_t prefix = strlen(keys->files.prefix);

	if (result == 0 && length >= prefix && strchr(key + prefix, '/') == NULL)
		result = keys_add(&keys->shards, key, length, size, etag);
	return result;
}

static int bucket_pages(struct objects *objects, struct bucket_keys *of,
			struct error *err)
{
	struct net_page page = {.context = of, .object = bucket_take};
	const struct keys *keys = &of->files;
	unsigned char *body = malloc(PAGE_ROOM);
	char token[sizeof(page.token)] = "";
	unsigned empty = 0, pages = 0;
	int result;

	if (body == NULL)
		return error_sys(err, ENOMEM, "cannot list it");
	do {
		uint64_t before = keys->seen;
		size_t size;

		result = bucket_ask(objects, token, PAGE, body, &size, err);
		if (result == 0)
			result = net_read_page(objects->net, (const char *)body, size,
					       &page, err);
		empty = keys->seen > before ? 0 : empty + 1;
		if (result == 0 && page.truncated &&
		    (strcmp(token, page.token) == 0 || empty == EMPTY_PAGES))
			result = error_set(err, EBADMSG,
					   "the listing does not get on: %u pages "
					   "without a key",
					   empty);
		if (result == 0 && page.truncated && ++pages == MOST_PAGES)
			result = error_set(err, EFBIG,
					   "the listing does not end within %u pages: "
					   "name a longer prefix",
					   pages);
		memcpy(token, page.token, sizeof(token));
	} while (result == 0 && page.truncated);
	free(body);
	if (keys->error.code != 0)
		*err = keys->error;
	else if (of->shards.error.code != 0)
		*err = of->shards.error;
	return result;
}

static bool bucket_is_sample(const void *kind, const char *name)
{
	return file_kind_has(kind, name);
}

static bool bucket_is_only(const void *wanted, const char *name)
{
	return strcmp(wanted, name) == 0;
}

static bool bucket_is_shard(const void *none, const char *name)
{
	(void)none;
	return shard_kind_of(name) != NULL;
}

/* As shards_claim() has it of a folder. */
static bool bucket_has_shards(const struct objects *objects,
			      const struct bucket_keys *keys)
{
	return objects->shards != NULL ||
	       (keys->shards.count > 0 && keys->files.count == 0 &&
		keys->files.class_count == 0);
}

static int bucket_list(struct objects *objects, const struct source_config *config,
		       struct error *err)
{
	const struct file_kind *kind = file_kind_of(config->prep);
	bool one = objects->shards != NULL && file_kind_has(kind, objects->shards);
	struct bucket_keys keys = {
		.files = {.prefix = objects->prefix,
			  .most = MOST_KEYS,
			  .is_sample = one ? bucket_is_only : bucket_is_sample,
			  .context = one ? (const void *)objects->shards : kind},
		.shards = {.prefix = objects->prefix,
			   .most = MOST_KEYS,
			   .is_sample = bucket_is_shard},
	};
	int result = bucket_pages(objects, &keys, err);

	if (result == 0)
		result = !one && bucket_has_shards(objects, &keys)
				 ? objects_shards_of_keys(objects, &keys.shards, config,
							  err)
				 : objects_of_keys(&keys.files, kind, &objects->index,
						   err);
	keys_fini(&keys.files);
	keys_fini(&keys.shards);
	return result;
}

/* Says nothing of the objects: it is the credentials that are tried. */
static int bucket_check(struct objects *objects, struct error *err)
{
	unsigned char *body = malloc(PAGE_ROOM);
	size_t size;
	int result;

	if (body == NULL)
		return error_sys(err, ENOMEM, "cannot ask for it");
	result = bucket_ask(objects, "", 1, body, &size, err);
	free(body);
	return result;
}

static bool bucket_claims(const char *dataset, const struct stat *status,
			  const struct source_config *config)
{
	(void)status;
	(void)config;
	return strncmp(dataset, scheme, sizeof(scheme) - 1) == 0;
}

/* A name that says of itself what it is: shards, or a file of tokens. */
static bool bucket_is_object(const char *name, const struct file_kind *kind)
{
	return shard_kind_of(name) != NULL ||
	       (kind == file_kind_of("tokens") && file_kind_has(kind, name));
}

/* "bucket/a/b", "bucket/a/b/": the bucket's name and "a/b/"; "bucket/a/b.tar": "a/" and
 * "b.tar". The prefix is NULL without memory. */
static void bucket_split(const char *place, char *bucket, const struct file_kind *kind,
			 struct objects_where *where)
{
	size_t length = strcspn(place, "/");
	const char *prefix = place + length + strspn(place + length, "/");
	const char *slash = strrchr(prefix, '/');
	const char *leaf = slash != NULL ? slash + 1 : prefix;
	bool shards = bucket_is_object(leaf, kind);
	bool whole = *leaf == '\0' || shards;

	snprintf(bucket, BUCKET_NAME, "%.*s", (int)length, place);
	if (asprintf(&where->prefix, "%.*s%s",
		     (int)(shards ? (size_t)(leaf - prefix) : strlen(prefix)), prefix,
		     whole ? "" : "/") < 0)
		where->prefix = NULL;
	if (!shards || where->prefix == NULL)
		return;
	where->shards = strdup(leaf);
	if (where->shards != NULL)
		return;
	free(where->prefix);
	where->prefix = NULL;
}

static void bucket_spell(const char *dataset, char *name, size_t size)
{
	char bucket[BUCKET_NAME];
	struct objects_where where = {0};

	bucket_split(dataset + sizeof(scheme) - 1, bucket, file_kind_of("tokens"),
		     &where);
	snprintf(name, size, "%s%s/%s%s", scheme, bucket,
		 where.prefix != NULL ? where.prefix : "",
		 where.shards != NULL ? where.shards : "");
	free(where.prefix);
	free(where.shards);
}

static void *bucket_open(const char *dataset, const struct source_config *config,
			 struct source_facts *facts, struct error *err)
{
	static const struct objects_how how = {bucket_list, bucket_check};
	char bucket[BUCKET_NAME];
	struct objects_where where = {0};

	bucket_split(dataset + sizeof(scheme) - 1, bucket, file_kind_of(config->prep),
		     &where);
	where.remote = net_remote_bucket(bucket, err);
	if (where.remote != NULL)
		return objects_open(dataset, &where, &how, config, facts, err);
	free(where.prefix);
	free(where.shards);
	return NULL;
}

const struct source_variant source_bucket = {.kind = "bucket",
					     .claims = bucket_claims,
					     .spell = bucket_spell,
					     .open = bucket_open,
					     OBJECTS};
