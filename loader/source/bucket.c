/*
 * bucket.c - a bucket as a tree of folders: s3://BUCKET/PREFIX.
 *
 * A listing comes in pages of keys in the order of their bytes, which is the order of
 * paths that a tree's samples have, and its rules hold here: see tree.c. Keys that don't
 * ascend would let a listing have no end, so they are refused.
 */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/source/objects.h"

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

static int bucket_take(void *context, const char *key, size_t length, uint64_t size,
		       const char *etag)
{
	return keys_add(context, key, length, size, etag);
}

static int bucket_pages(struct objects *objects, struct keys *keys, struct error *err)
{
	struct net_page page = {.context = keys, .object = bucket_take};
	unsigned char *body = malloc(PAGE_ROOM);
	char token[sizeof(page.token)] = "";
	unsigned empty = 0;
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
		memcpy(token, page.token, sizeof(token));
	} while (result == 0 && page.truncated);
	free(body);
	if (keys->error.code != 0)
		*err = keys->error;
	return result;
}

static bool bucket_is_sample(const void *kind, const char *name)
{
	return file_kind_has(kind, name);
}

static int bucket_list(struct objects *objects, const struct source_config *config,
		       struct error *err)
{
	const struct file_kind *kind = file_kind_of(config->prep);
	struct keys keys = {.prefix = objects->prefix,
			    .is_sample = bucket_is_sample,
			    .context = kind};
	int result = bucket_pages(objects, &keys, err);

	if (result == 0)
		result = objects_of_keys(&keys, kind, &objects->index, err);
	keys_fini(&keys);
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

/* "bucket/a/b", "bucket/a/b/": the bucket's name and "a/b/". NULL: no memory. */
static char *bucket_split(const char *place, char *bucket, size_t size)
{
	size_t length = strcspn(place, "/");
	const char *prefix = place + length + strspn(place + length, "/");
	char *made;

	snprintf(bucket, size, "%.*s", (int)length, place);
	if (asprintf(&made, "%s%s", prefix,
		     *prefix != '\0' && prefix[strlen(prefix) - 1] != '/' ? "/" : "") <
	    0)
		return NULL;
	return made;
}

static void *bucket_open(const char *dataset, const struct source_config *config,
			 struct source_facts *facts, struct error *err)
{
	static const struct objects_how how = {bucket_list, bucket_check};
	char bucket[NAME_SHOWN * 3];
	char *prefix =
		bucket_split(dataset + sizeof(scheme) - 1, bucket, sizeof(bucket));
	struct net_remote *remote = net_remote_bucket(bucket, err);

	if (remote != NULL)
		return objects_open(dataset, remote, prefix, &how, config, facts, err);
	free(prefix);
	return NULL;
}

const struct source_variant source_bucket = {
	.kind = "bucket", .claims = bucket_claims, .open = bucket_open, OBJECTS};
