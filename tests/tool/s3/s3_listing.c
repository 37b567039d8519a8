/* s3_listing.c - one page of keys as XML. A token is the last item before it. */
#include "tests/tool/s3/s3_listing.h"
#include "loader/base/io.h"
#include "loader/base/number.h"
#include "tests/lib/http_request.h"
#include "tests/tool/s3/s3_bucket.h"
#include "tests/tool/s3/s3_error.h"

#include <nettle/base64.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE_MOST = 1000, ITEM_MOST = 4096 };

struct listing {
	const char *name, *prefix, *delimiter, *start_after;
	char token[ITEM_MOST]; /* decoded: items after this one */
	uint64_t most, salt;
	bool encoded; /* encoding-type=url */
	uint64_t count;
	bool truncated;
	char last[ITEM_MOST]; /* item written */
	FILE *objects, *prefixes;
	char *objects_text, *prefixes_text;
};

static const char *listing_parameter(const struct http_request *request,
				     const char *name)
{
	const char *value = http_field(&request->query, name);

	return value != NULL ? value : "";
}

static bool listing_read_token(struct listing *this, const char *token,
			       struct s3_error *error)
{
	struct base64_decode_ctx base64;
	size_t size = 0;

	base64_decode_init(&base64);
	if (strlen(token) < sizeof(this->token) &&
	    base64_decode_update(&base64, &size, (uint8_t *)this->token, strlen(token),
				 token) &&
	    base64_decode_final(&base64)) {
		this->token[size] = 0;
		return true;
	}
	return s3_error_set(error, 400, "InvalidArgument",
			    "The continuation token provided is incorrect");
}

static bool listing_read(struct listing *this, const struct http_request *request,
			 struct s3_error *error)
{
	const char *most = http_field(&request->query, "max-keys");

	this->prefix = listing_parameter(request, "prefix");
	this->delimiter = listing_parameter(request, "delimiter");
	this->start_after = listing_parameter(request, "start-after");
	this->encoded = strcmp(listing_parameter(request, "encoding-type"), "url") == 0;
	this->most = PAGE_MOST;
	if (most != NULL && !number_whole(most, INT32_MAX, &this->most))
		return s3_error_set(
			error, 400, "InvalidArgument",
			"Provided max-keys not an integer or within integer "
			"range");
	if (this->most > PAGE_MOST)
		this->most = PAGE_MOST;
	return listing_read_token(
		this, listing_parameter(request, "continuation-token"), error);
}

static void listing_put(const struct listing *this, FILE *out, const char *element,
			const char *text)
{
	char encoded[3 * ITEM_MOST];

	if (this->encoded && strlen(text) < ITEM_MOST)
		http_encode(encoded, text, "/");
	s3_put_element(out, element, this->encoded ? encoded : text);
}

static void listing_put_object(struct listing *this, const struct s3_object *object)
{
	char etag[S3_ETAG], time[64];
	struct tm tm;

	gmtime_r(&object->version.modified.tv_sec, &tm);
	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
	s3_etag(object->key, &object->version, this->salt, etag);
	fputs("<Contents>", this->objects);
	listing_put(this, this->objects, "Key", object->key);
	s3_put_element(this->objects, "LastModified", time);
	s3_put_element(this->objects, "ETag", etag);
	fprintf(this->objects,
		"<Size>%llu</Size><StorageClass>STANDARD</StorageClass></Contents>",
		(unsigned long long)object->version.size);
}

static void listing_put_prefix(struct listing *this, const char *item)
{
	fputs("<CommonPrefixes>", this->prefixes);
	listing_put(this, this->prefixes, "Prefix", item);
	fputs("</CommonPrefixes>", this->prefixes);
}

/* What stands in the listing for a key: itself, or all up to the next delimiter. */
static bool listing_item(const struct listing *this, const char *key,
			 char item[ITEM_MOST])
{
	const char *rest = key + strlen(this->prefix);
	const char *at = *this->delimiter != 0 ? strstr(rest, this->delimiter) : NULL;
	size_t length = at != NULL ? (size_t)(at - key) + strlen(this->delimiter) : 0;

	snprintf(item, ITEM_MOST, "%.*s", at != NULL ? (int)length : ITEM_MOST, key);
	return at != NULL;
}

/* False: the page is full. */
static bool listing_add(struct listing *this, const struct s3_object *object)
{
	char item[ITEM_MOST];
	bool common = listing_item(this, object->key, item);

	if (strcmp(object->key, this->start_after) <= 0 ||
	    strcmp(item, this->token) <= 0 || strcmp(item, this->last) == 0)
		return true;
	if (this->count == this->most) {
		this->truncated = this->most > 0;
		return false;
	}
	if (common)
		listing_put_prefix(this, item);
	else
		listing_put_object(this, object);
	strcpy(this->last, item);
	this->count++;
	return true;
}

static const char *listing_later(const char *a, const char *b)
{
	return strcmp(a, b) > 0 ? a : b;
}

static void listing_fill(struct listing *this, const struct s3_bucket *bucket)
{
	const char *from = listing_later(this->prefix, this->start_after);
	size_t length = strlen(this->prefix);

	for (size_t i = s3_bucket_from(bucket, listing_later(from, this->token));
	     i < bucket->count; i++)
		if (strncmp(bucket->objects[i].key, this->prefix, length) != 0 ||
		    !listing_add(this, &bucket->objects[i]))
			break;
}

static void listing_put_token(const struct listing *this, FILE *out)
{
	char token[BASE64_ENCODE_RAW_LENGTH(ITEM_MOST) + 1];
	size_t length = strlen(this->last);

	base64_encode_raw(token, length, (const uint8_t *)this->last);
	token[BASE64_ENCODE_RAW_LENGTH(length)] = 0;
	s3_put_element(out, "NextContinuationToken", token);
}

static void listing_put_page(const struct listing *this, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
	      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
	      out);
	s3_put_element(out, "Name", this->name);
	listing_put(this, out, "Prefix", this->prefix);
	if (*this->start_after != 0)
		listing_put(this, out, "StartAfter", this->start_after);
	if (*this->delimiter != 0)
		listing_put(this, out, "Delimiter", this->delimiter);
	if (this->encoded)
		s3_put_element(out, "EncodingType", "url");
	if (this->truncated)
		listing_put_token(this, out);
	fprintf(out, "<KeyCount>%llu</KeyCount><MaxKeys>%llu</MaxKeys>",
		(unsigned long long)this->count, (unsigned long long)this->most);
	s3_put_element(out, "IsTruncated", this->truncated ? "true" : "false");
	fprintf(out, "%s%s</ListBucketResult>",
		this->objects_text != NULL ? this->objects_text : "",
		this->prefixes_text != NULL ? this->prefixes_text : "");
}

/* NULL when memory was short. */
static char *listing_make(struct listing *this, const struct s3_bucket *bucket)
{
	char *page = NULL;
	size_t size, objects_size, prefixes_size;
	FILE *out = open_memstream(&page, &size);

	this->objects = open_memstream(&this->objects_text, &objects_size);
	this->prefixes = open_memstream(&this->prefixes_text, &prefixes_size);
	if (this->objects != NULL && this->prefixes != NULL)
		listing_fill(this, bucket);
	if (this->objects != NULL)
		fclose(this->objects);
	if (this->prefixes != NULL)
		fclose(this->prefixes);
	if (out != NULL)
		listing_put_page(this, out);
	free(this->objects_text);
	free(this->prefixes_text);
	return out != NULL ? io_text(out, &page) : NULL;
}

char *s3_listing_page(struct s3_bucket *bucket, const char *name,
		      const struct http_request *request, uint64_t salt,
		      struct s3_error *error)
{
	struct listing this = {.name = name, .salt = salt};
	char *page = NULL;

	if (!listing_read(&this, request, error))
		return NULL;
	if (this.token[0] != 0 || s3_bucket_scan(bucket, NULL) == 0)
		page = listing_make(&this, bucket);
	if (page == NULL)
		s3_error_set(error, 500, "InternalError", "Listing failed.");
	return page;
}
