/*
 * page.c - reads a page of keys with expat.
 *
 * What a server sends may be anything: a document type is refused before any entity in it
 * is declared, elements nest no deeper than a listing's do, and texts have their limits.
 */
#include "loader/net/curl/page.h"
#include "loader/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <expat.h>
#include <string.h>

enum {
	DEEPEST = 8,
	MOST_TEXT = 3 * NET_KEY, /* of a key, encoded */
};

/* Of expat 2.9 on, which warns of the other. */
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
#define page_line(parser) (unsigned long)XML_GetCurrentLineNumber64(parser)
#else
#define page_line(parser) (unsigned long)XML_GetCurrentLineNumber(parser)
#endif

struct reading {
	struct net_page *page;
	struct error *err;
	XML_Parser parser;
	unsigned depth;
	bool root, in_contents;
	bool encoded; /* keys are */
	bool deliver; /* objects, in the second pass */
	int result;
	char text[MOST_TEXT + 1]; /* of the element that is open */
	size_t used;
	char key[MOST_TEXT + 1];
	bool has_key, has_size;
	uint64_t size;
	char etag[NET_ETAG];
};

static void page_stop(struct reading *reading, int result)
{
	reading->result = result;
	XML_StopParser(reading->parser, XML_FALSE);
}

static void page_refuse(struct reading *reading, const char *what)
{
	if (reading->result == 0)
		page_stop(reading, error_set(reading->err, EBADMSG,
					     "the listing is none of S3's: %s", what));
}

static void XMLCALL page_doctype(void *context, const XML_Char *name,
				 const XML_Char *system, const XML_Char *public,
				 int internal)
{
	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	page_refuse(context, "it has a document type");
}

static void XMLCALL page_begin(void *context, const XML_Char *name,
			       const XML_Char **attributes)
{
	struct reading *reading = context;

	(void)attributes;
	reading->used = 0;
	if (reading->depth == 0)
		reading->root = strcmp(name, "ListBucketResult") == 0;
	if (reading->depth == 0 && !reading->root)
		page_refuse(reading, "another root element");
	if (++reading->depth > DEEPEST)
		page_refuse(reading, "too many elements in each other");
	if (reading->depth == 2 && strcmp(name, "Contents") == 0) {
		reading->in_contents = true;
		reading->has_key = reading->has_size = false;
		reading->etag[0] = '\0';
	}
}

static void XMLCALL page_text(void *context, const XML_Char *text, int length)
{
	struct reading *reading = context;

	if ((size_t)length > MOST_TEXT - reading->used) {
		page_refuse(reading, "a text longer than keys are");
		return;
	}
	memcpy(reading->text + reading->used, text, (size_t)length);
	reading->used += (size_t)length;
}

static void page_take_key(struct reading *reading)
{
	memcpy(reading->key, reading->text, reading->used + 1);
	reading->has_key = true;
}

static void page_take_object(struct reading *reading)
{
	struct net_page *page = reading->page;
	size_t length;
	int result;

	reading->in_contents = false;
	if (!reading->has_key || !reading->has_size) {
		page_refuse(reading, "an object without key or size");
		return;
	}
	if (!reading->deliver)
		return;
	length = strlen(reading->key);
	if (reading->encoded)
		length = net_url_decode(reading->key, true);
	result = page->object(page->context, reading->key, length, reading->size,
			      reading->etag);
	if (result < 0)
		page_stop(reading, result);
}

/* An ETag becomes a header of requests, where a line break would begin another. */
static bool page_is_printable(const char *text)
{
	while (*text != '\0' && !iscntrl((unsigned char)*text))
		text++;
	return *text == '\0';
}

static void page_end_of_object(struct reading *reading, const char *name)
{
	if (strcmp(name, "Key") == 0) {
		page_take_key(reading);
	} else if (strcmp(name, "Size") == 0) {
		reading->has_size =
			number_whole(reading->text, UINT64_MAX, &reading->size);
	} else if (strcmp(name, "ETag") == 0 && !page_is_printable(reading->text)) {
		page_refuse(reading, "an ETag with control characters");
	} else if (strcmp(name, "ETag") == 0 && reading->used < sizeof(reading->etag)) {
		memcpy(reading->etag, reading->text, reading->used + 1);
	}
}

static void page_end_of_head(struct reading *reading, const char *name)
{
	struct net_page *page = reading->page;

	if (strcmp(name, "IsTruncated") == 0) {
		page->truncated = strcmp(reading->text, "true") == 0;
	} else if (strcmp(name, "EncodingType") == 0) {
		reading->encoded = strcmp(reading->text, "url") == 0;
	} else if (strcmp(name, "NextContinuationToken") == 0) {
		if (reading->used >= sizeof(page->token))
			page_refuse(reading, "the token of the next page is too long");
		else
			memcpy(page->token, reading->text, reading->used + 1);
	}
}

static void XMLCALL page_end(void *context, const XML_Char *name)
{
	struct reading *reading = context;

	if (reading->result < 0)
		return;
	reading->text[reading->used] = '\0';
	if (reading->depth == 3 && reading->in_contents)
		page_end_of_object(reading, name);
	else if (reading->depth == 2 && reading->in_contents)
		page_take_object(reading);
	else if (reading->depth == 2)
		page_end_of_head(reading, name);
	reading->depth--;
	reading->used = 0;
}

static int page_parse(struct reading *reading, const char *text, size_t size)
{
	XML_Parser parser = XML_ParserCreate("UTF-8");
	enum XML_Status status;

	if (parser == NULL)
		return error_sys(reading->err, ENOMEM, "cannot read the listing");
	reading->parser = parser;
	XML_SetUserData(parser, reading);
	XML_SetElementHandler(parser, page_begin, page_end);
	XML_SetCharacterDataHandler(parser, page_text);
	XML_SetStartDoctypeDeclHandler(parser, page_doctype);
	status = XML_Parse(parser, text, (int)size, 1);
	if (reading->result == 0 && status != XML_STATUS_OK)
		reading->result = error_set(
			reading->err, EBADMSG, "the listing is no XML: %s, line %lu",
			XML_ErrorString(XML_GetErrorCode(parser)), page_line(parser));
	XML_ParserFree(parser);
	return reading->result;
}

/* Whether keys are encoded may stand behind them: the first pass looks for it. */
int page_read(const char *text, size_t size, struct net_page *page, struct error *err)
{
	struct reading first = {.page = page, .err = err}, second;
	int result;

	page->truncated = false;
	page->token[0] = '\0';
	result = page_parse(&first, text, size);
	if (result == 0 && page->truncated && page->token[0] == '\0')
		result = error_set(err, EBADMSG, "the listing goes on, but not where");
	if (result < 0)
		return result;
	second = (struct reading){
		.page = page, .err = err, .encoded = first.encoded, .deliver = true};
	return page_parse(&second, text, size);
}
