/* sigv4.c - the canonical request, the string to sign, and the chain of keys. */
#include "tests/lib/sigv4.h"
#include "loader/base/io.h"
#include "tests/lib/http_request.h"

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sigv4_hex(const uint8_t digest[SHA256_DIGEST_SIZE], char hex[SIGV4_HEX])
{
	base16_encode_update(hex, SHA256_DIGEST_SIZE, digest);
	hex[SIGV4_HEX - 1] = 0;
}

/* The rest of `text` after `name`, cut off where it ends; NULL: it begins otherwise. */
static char *sigv4_part(char **text, const char *name)
{
	char *part = strsep(text, ",");

	if (*text != NULL)
		*text += strspn(*text, " ");
	return part != NULL && strncmp(part, name, strlen(name)) == 0
		       ? part + strlen(name)
		       : NULL;
}

static bool sigv4_parse_scope(char *scope, struct sigv4 *signature)
{
	signature->id = strsep(&scope, "/");
	signature->date = strsep(&scope, "/");
	signature->region = strsep(&scope, "/");
	signature->service = strsep(&scope, "/");
	return scope != NULL && strcmp(scope, "aws4_request") == 0;
}

bool sigv4_parse(char *value, struct sigv4 *signature)
{
	char *kind = strsep(&value, " ");
	char *scope = value != NULL ? sigv4_part(&value, "Credential=") : NULL;

	if (strcmp(kind, "AWS4-HMAC-SHA256") != 0 || scope == NULL)
		return false;
	signature->headers = sigv4_part(&value, "SignedHeaders=");
	signature->signature = sigv4_part(&value, "Signature=");
	return sigv4_parse_scope(scope, signature) && signature->headers != NULL &&
	       signature->signature != NULL && value == NULL &&
	       strlen(signature->signature) == SIGV4_HEX - 1;
}

static int sigv4_compare_fields(const void *a, const void *b)
{
	const struct http_field *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order != 0 ? order : strcmp(left->value, right->value);
}

/* Encoded first, then sorted. */
static void sigv4_put_query(FILE *out, const struct http_fields *query)
{
	struct http_fields sorted = *query;
	char text[3 * HTTP_HEAD], *to = text;

	for (unsigned i = 0; i < query->count; i++) {
		sorted.field[i].name = to;
		to = http_encode(to, query->field[i].name, "") + 1;
		sorted.field[i].value = to;
		to = http_encode(to, query->field[i].value, "") + 1;
	}
	qsort(sorted.field, sorted.count, sizeof(*sorted.field), sigv4_compare_fields);
	for (unsigned i = 0; i < sorted.count; i++)
		fprintf(out, "%s%s=%s", i > 0 ? "&" : "", sorted.field[i].name,
			sorted.field[i].value);
	fputc('\n', out);
}

/* Several spaces are one. */
static void sigv4_put_value(FILE *out, const char *value)
{
	for (; *value != 0; value++)
		if (value[0] != ' ' || value[1] != ' ')
			fputc(*value, out);
}

/* All of that name, in the order sent. */
static void sigv4_put_header(FILE *out, const struct http_fields *fields,
			     const char *name)
{
	const char *between = ":";

	fputs(name, out);
	for (unsigned i = 0; i < fields->count; i++) {
		if (strcmp(fields->field[i].name, name) != 0)
			continue;
		fputs(between, out);
		sigv4_put_value(out, fields->field[i].value);
		between = ",";
	}
	fputc('\n', out);
}

static void sigv4_put_headers(FILE *out, const struct http_fields *fields,
			      const char *headers)
{
	char names[HTTP_HEAD], *at = names, *name;

	snprintf(names, sizeof(names), "%s", headers);
	while ((name = strsep(&at, ";")) != NULL)
		sigv4_put_header(out, fields, name);
	fprintf(out, "\n%s\n", headers);
}

char *sigv4_canonical(const struct http_request *request, const char *headers)
{
	const char *hash = http_field(&request->header, "x-amz-content-sha256");
	char path[3 * HTTP_HEAD], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	http_encode(path, request->path, "/");
	fprintf(out, "%s\n%s\n", request->method, path);
	sigv4_put_query(out, &request->query);
	sigv4_put_headers(out, &request->header, headers);
	fputs(hash != NULL ? hash : "", out);
	return io_text(out, &text);
}

char *sigv4_string(const struct sigv4 *scope, const char *time, const char *canonical)
{
	struct sha256_ctx sha;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hex[SIGV4_HEX], *text;

	sha256_init(&sha);
	sha256_update(&sha, strlen(canonical), (const uint8_t *)canonical);
	sha256_digest(&sha, sizeof(digest), digest);
	sigv4_hex(digest, hex);
	if (asprintf(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", time,
		     scope->date, scope->region, scope->service, hex) < 0)
		return NULL;
	return text;
}

/* The next key of the chain takes the place of the last. */
static void sigv4_hmac(uint8_t key[SHA256_DIGEST_SIZE], const char *text)
{
	struct hmac_sha256_ctx hmac;

	hmac_sha256_set_key(&hmac, SHA256_DIGEST_SIZE, key);
	hmac_sha256_update(&hmac, strlen(text), (const uint8_t *)text);
	hmac_sha256_digest(&hmac, SHA256_DIGEST_SIZE, key);
}

void sigv4_sign(const struct sigv4 *scope, const char *secret, const char *string,
		char signature[SIGV4_HEX])
{
	const char *const chain[] = {scope->region, scope->service, "aws4_request",
				     string};
	struct hmac_sha256_ctx hmac;
	uint8_t key[SHA256_DIGEST_SIZE];
	char first[256];
	int length = snprintf(first, sizeof(first), "AWS4%s", secret);

	hmac_sha256_set_key(&hmac, (size_t)length, (const uint8_t *)first);
	hmac_sha256_update(&hmac, strlen(scope->date), (const uint8_t *)scope->date);
	hmac_sha256_digest(&hmac, sizeof(key), key);
	for (unsigned i = 0; i < sizeof(chain) / sizeof(*chain); i++)
		sigv4_hmac(key, chain[i]);
	sigv4_hex(key, signature);
}
