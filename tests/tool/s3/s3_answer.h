/* s3_answer.h - what the server says to one request. */
#ifndef DSA_TESTS_S3_ANSWER_H
#define DSA_TESTS_S3_ANSWER_H

#include "tests/tool/s3/s3_access.h"
#include "tests/tool/s3/s3_bucket.h"
#include "tests/tool/s3/s3_fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request;

/* What it serves, and how. */
struct s3_store {
	const char *name; /* of the bucket */
	struct s3_bucket bucket;
	struct s3_access access;
	struct s3_faults faults;
	double ahead_s;        /* the server's clock before ours */
	const char *redirect;  /* where REDIRECT leads: "http://host:port" */
	const char *listing;   /* a file that is every page of a listing, or NULL */
	uint64_t change_after; /* objects asked for, then ETags change; 0: never */
	uint64_t expire_after; /* the same, then the token is too old; 0: never */
	uint64_t objects;      /* such requests so far */
	unsigned others;       /* requests for what is no object */
};

struct s3_answer {
	unsigned status;
	char *head; /* status line and headers; NULL: memory was short */
	size_t head_size;
	char *text;      /* the body; NULL: it is in the file */
	int file;        /* or -1 */
	uint64_t from;   /* where the body begins there */
	uint64_t length; /* of the body that follows the head */
	struct s3_drawn drawn;
	bool closes; /* the connection */
};

/* request NULL: what came was none. */
void s3_answer_make(struct s3_store *store, const struct http_request *request,
		    struct s3_answer *answer);
void s3_answer_fini(struct s3_answer *answer);

#endif
