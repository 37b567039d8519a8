/* s3_answer.c - finds what a request means, whether it may be served, and with what. */
#include "tests/tool/s3/s3_answer.h"
#include "loader/base/io.h"
#include "tests/lib/http_request.h"
#include "tests/tool/s3/s3_error.h"
#include "tests/tool/s3/s3_listing.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct answer_case {
	struct s3_store *store;
	const struct http_request *request;
	struct s3_answer *answer;
	struct s3_error error;
	const char *key; /* "" is the bucket itself */
	FILE *head;      /* headers beside those that all answers have */
	const char *type;
};

static const struct answer_fault {
	unsigned status;
	const char *code, *message;
} answer_faults[S3_FAULT_KINDS] = {
	[S3_FAULT_SLOWDOWN] = {503, "SlowDown", "Please reduce your request rate."},
	[S3_FAULT_TOOMANY] = {429, "TooManyRequests",
			      "Please reduce your request rate."},
	[S3_FAULT_INTERNAL] = {500, "InternalError",
			       "We encountered an internal error. Please try again."},
	[S3_FAULT_FORBIDDEN] = {403, "AccessDenied", "Access Denied"},
	[S3_FAULT_ARCHIVED] = {403, "InvalidObjectState",
			       "The operation is not valid for the object's storage "
			       "class"},
	[S3_FAULT_MOVED] = {301, "PermanentRedirect",
			    "The bucket must be addressed by another endpoint."},
	[S3_FAULT_BULKY] = {503, "SlowDown", "Please reduce your request rate."},
	[S3_FAULT_REDIRECT] = {307, "TemporaryRedirect",
			       "Please re-send this request to the specified temporary "
			       "endpoint."},
};

/* Virtual-host style names the bucket in the host, path style in the path. */
static bool answer_locate(struct answer_case *this)
{
	const char *name = this->store->name, *path = this->request->path + 1;
	const char *host = http_field(&this->request->header, "host");
	size_t length = strlen(name);

	if (host == NULL)
		return s3_error_set(&this->error, 400, "InvalidRequest",
				    "Missing required header for this request: Host");
	if (strncmp(host, name, length) == 0 && host[length] == '.') {
		this->key = path;
		return true;
	}
	if (strncmp(path, name, length) != 0 ||
	    (path[length] != '/' && path[length] != 0))
		return s3_error_set(&this->error, 404, "NoSuchBucket",
				    "The specified bucket does not exist");
	this->key = path[length] == 0 ? "" : path + length + 1;
	return true;
}

static time_t answer_now(const struct s3_store *store)
{
	return time(NULL) + (time_t)store->ahead_s;
}

static void answer_draw(struct answer_case *this)
{
	struct s3_store *store = this->store;
	struct s3_object *object = s3_bucket_find(&store->bucket, this->key);
	unsigned *tries = object != NULL ? &object->tries : &store->others;

	this->answer->drawn = s3_fault_draw(&store->faults, this->key, (*tries)++);
}

static bool answer_fails(struct answer_case *this)
{
	const struct answer_fault *fault = &answer_faults[this->answer->drawn.fault];

	if (fault->status == 0)
		return false;
	if (this->answer->drawn.fault == S3_FAULT_REDIRECT)
		fprintf(this->head, "Location: %s%s\r\n", this->store->redirect,
			this->request->target);
	s3_error_set(&this->error, fault->status, fault->code, "%s", fault->message);
	return true;
}

/* A file's text, to be freed, or NULL. */
static char *answer_read_file(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (in == NULL)
		return NULL;
	if (getdelim(&text, &size, 0, in) < 0) {
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

static uint64_t answer_salt(const struct s3_store *store)
{
	return store->change_after > 0 && store->objects > store->change_after;
}

static bool answer_bucket(struct answer_case *this)
{
	struct s3_store *store = this->store;
	const char *version = http_field(&this->request->query, "list-type");
	struct s3_answer *answer = this->answer;

	this->type = "application/xml";
	if (strcmp(this->request->method, "HEAD") == 0)
		return true;
	if (version == NULL || strcmp(version, "2") != 0)
		return s3_error_set(
			&this->error, 501, "NotImplemented",
			"A header you provided implies functionality that is "
			"not implemented");
	answer->text =
		store->listing != NULL
			? answer_read_file(store->listing)
			: s3_listing_page(&store->bucket, store->name, this->request,
					  answer_salt(store), &this->error);
	answer->length = answer->text != NULL ? strlen(answer->text) : 0;
	return this->error.status == 0;
}

/* Digits, if there are any. */
static bool answer_number(const char **text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return true;
}

/* "bytes=2-5", "bytes=2-", "bytes=-4": first and last byte. False: it is no range. */
static bool answer_read_range(const char *text, uint64_t size, uint64_t *first,
			      uint64_t *last)
{
	bool begins, ends;

	if (text == NULL || strncmp(text, "bytes=", 6) != 0)
		return false;
	text += 6;
	*last = UINT64_MAX;
	begins = answer_number(&text, first);
	if (*text++ != '-')
		return false;
	ends = answer_number(&text, last);
	if (*text != 0 || (!begins && !ends))
		return false;
	if (!begins) {
		*first = *last < size ? size - *last : 0;
		*last = UINT64_MAX;
	}
	return *first <= *last;
}

/* The status: 206 with a part, 200 where none is asked for, or 416. */
static unsigned answer_range(const char *text, uint64_t size, uint64_t *from,
			     uint64_t *length)
{
	uint64_t first = 0, last = 0;

	if (!answer_read_range(text, size, &first, &last))
		return 200;
	if (first >= size)
		return 416;
	*from = first;
	*length = (last < size ? last + 1 : size) - first;
	return 206;
}

static bool answer_etag_matches(const char *wanted, const char *etag)
{
	return wanted == NULL || strcmp(wanted, "*") == 0 || strcmp(wanted, etag) == 0;
}

static bool answer_part(struct answer_case *this, uint64_t size)
{
	struct s3_answer *answer = this->answer;
	const char *range = http_field(&this->request->header, "range");

	answer->length = size;
	if (answer->drawn.fault == S3_FAULT_WHOLE)
		range = NULL;
	answer->status = answer_range(range, size, &answer->from, &answer->length);
	if (answer->drawn.fault == S3_FAULT_SHIFT && answer->status == 206)
		answer->from += answer->from > 0 ? UINT64_MAX : 1;
	if (answer->status == 416) {
		fprintf(this->head, "Content-Range: bytes */%llu\r\n",
			(unsigned long long)size);
		return s3_error_set(&this->error, 416, "InvalidRange",
				    "The requested range is not satisfiable");
	}
	if (answer->status == 206)
		fprintf(this->head, "Content-Range: bytes %llu-%llu/%llu\r\n",
			(unsigned long long)answer->from,
			(unsigned long long)(answer->from + answer->length - 1),
			(unsigned long long)size);
	return true;
}

static void answer_put_time(FILE *out, const char *name, time_t time)
{
	struct tm tm;
	char text[64];

	gmtime_r(&time, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	fprintf(out, "%s: %s\r\n", name, text);
}

static bool answer_object(struct answer_case *this)
{
	struct s3_store *store = this->store;
	struct s3_version version;
	char etag[S3_ETAG];

	store->objects++;
	this->answer->file = s3_bucket_read(&store->bucket, this->key, &version);
	if (this->answer->file < 0) {
		s3_error_set(&this->error, 404, "NoSuchKey",
			     "The specified key does not exist.");
		return s3_error_add(&this->error, "Key", this->key);
	}
	s3_etag(this->key, &version, answer_salt(store), etag);
	if (!answer_etag_matches(http_field(&this->request->header, "if-match"), etag))
		return s3_error_set(
			&this->error, 412, "PreconditionFailed",
			"At least one of the pre-conditions you specified did "
			"not hold");
	if (!answer_part(this, version.size))
		return false;
	this->type = "binary/octet-stream";
	answer_put_time(this->head, "Last-Modified", version.modified.tv_sec);
	fprintf(this->head, "ETag: %s\r\nAccept-Ranges: bytes\r\n", etag);
	return true;
}

static bool answer_method(struct answer_case *this)
{
	const char *method = this->request->method;

	if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
		return true;
	this->answer->closes = true; /* a body may follow */
	return s3_error_set(
		&this->error, 405, "MethodNotAllowed",
		"The specified method is not allowed against this resource.");
}

/* The token expires when so many objects were asked for. */
static bool answer_permits(struct answer_case *this)
{
	const struct s3_store *store = this->store;
	struct s3_access access = store->access;

	if (store->expire_after > 0 && store->objects >= store->expire_after)
		access.expired = true;
	return s3_access_check(&access, this->request, answer_now(store), &this->error);
}

static bool answer_serve(struct answer_case *this)
{
	if (!answer_method(this) || !answer_locate(this))
		return false;
	answer_draw(this);
	if (!answer_permits(this) || answer_fails(this))
		return false;
	return *this->key == 0 ? answer_bucket(this) : answer_object(this);
}

/* Blanks behind the text: more than any client keeps of an error. */
static char *answer_swell(char *text)
{
	size_t used = strlen(text), size = used + (2 << 20);
	char *larger = realloc(text, size + 1);

	if (larger == NULL)
		return text;
	memset(larger + used, ' ', size - used);
	larger[size] = 0;
	return larger;
}

static void answer_failed(struct answer_case *this)
{
	struct s3_answer *answer = this->answer;
	const char *path = this->request != NULL ? this->request->path : "";

	if (answer->file >= 0)
		close(answer->file);
	free(answer->text);
	answer->file = -1;
	answer->from = 0;
	answer->status = this->error.status;
	answer->text = s3_error_body(&this->error, path);
	if (answer->text != NULL && answer->drawn.fault == S3_FAULT_BULKY)
		answer->text = answer_swell(answer->text);
	answer->length = answer->text != NULL ? strlen(answer->text) : 0;
	this->type = "application/xml";
	s3_error_fini(&this->error);
}

static const char *answer_reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} reasons[] = {
		{200, "OK"},
		{206, "Partial Content"},
		{301, "Moved Permanently"},
		{307, "Temporary Redirect"},
		{400, "Bad Request"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{412, "Precondition Failed"},
		{416, "Requested Range Not Satisfiable"},
		{429, "Too Many Requests"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Slow Down"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

/* `more`: headers that were gathered on the way. */
static void answer_put_head(struct answer_case *this, const char *more)
{
	struct s3_answer *answer = this->answer;
	FILE *out = open_memstream(&answer->head, &answer->head_size);

	if (out == NULL)
		return;
	fprintf(out, "HTTP/1.1 %u %s\r\n", answer->status,
		answer_reason(answer->status));
	answer_put_time(out, "Date", answer_now(this->store));
	if (answer->drawn.fault != S3_FAULT_MOVED)
		fprintf(out, "x-amz-bucket-region: %s\r\n", this->store->access.region);
	if (answer->drawn.fault != S3_FAULT_UNTOLD ||
	    strcmp(this->request->method, "HEAD") != 0)
		fprintf(out, "Content-Length: %llu\r\n",
			(unsigned long long)answer->length);
	fprintf(out, "Server: s3_server\r\nContent-Type: %s\r\n%s%s\r\n", this->type,
		answer->closes ? "Connection: close\r\n" : "",
		more != NULL ? more : "");
	answer->head = io_text(out, &answer->head);
}

static bool answer_is_last(const struct http_request *request)
{
	const char *connection =
		request != NULL ? http_field(&request->header, "connection") : "close";

	return connection != NULL && strcasecmp(connection, "close") == 0;
}

void s3_answer_make(struct s3_store *store, const struct http_request *request,
		    struct s3_answer *answer)
{
	struct answer_case this = {
		.store = store, .request = request, .answer = answer};
	char *more = NULL;
	size_t size;

	*answer = (struct s3_answer){
		.status = 200, .file = -1, .closes = answer_is_last(request)};
	this.head = open_memstream(&more, &size);
	if (this.head == NULL)
		return;
	if (request == NULL)
		s3_error_set(&this.error, 400, "BadRequest",
			     "This is no HTTP request.");
	if (request == NULL || !answer_serve(&this))
		answer_failed(&this);
	more = io_text(this.head, &more);
	answer_put_head(&this, more);
	free(more);
	if (request != NULL && strcmp(request->method, "HEAD") == 0)
		answer->length = 0;
}

void s3_answer_fini(struct s3_answer *answer)
{
	if (answer->file >= 0)
		close(answer->file);
	free(answer->text);
	free(answer->head);
	*answer = (struct s3_answer){.file = -1};
}
