/*
 * http_request.h - the head of an HTTP/1.1 request, read by servers that tests run, and
 * the encoding of URLs.
 */
#ifndef DSA_TESTS_HTTP_REQUEST_H
#define DSA_TESTS_HTTP_REQUEST_H

#include <stdbool.h>

enum { HTTP_HEAD = 8192, HTTP_FIELDS = 48 };

struct http_fields {
	unsigned count;
	struct http_field {
		const char *name, *value;
	} field[HTTP_FIELDS];
};

/* Points into the head that was read. */
struct http_request {
	const char *method;
	const char *target;       /* as it was sent: path and query */
	const char *path;         /* decoded */
	struct http_fields query; /* decoded, in the order sent */
	struct http_fields
		header; /* names in lower case, values without outer spaces */
	char decoded[HTTP_HEAD];
};

/*
 * Reads and cuts up a head: lines that end with \r\n, the last of them empty, fewer
 * than HTTP_HEAD bytes. A + in a target is a space, as S3 has it. False: it is none.
 */
bool http_request_parse(char *head, struct http_request *request);

/* The value of the first field of that name, or NULL. */
const char *http_field(const struct http_fields *fields, const char *name);

/*
 * Percent-encodes all but letters, digits, -._~ and what is in `keep`: at most three
 * bytes for each, and the 0. Returns where that 0 is.
 */
char *http_encode(char *to, const char *text, const char *keep);

#endif
