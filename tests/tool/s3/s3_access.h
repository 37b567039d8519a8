/* s3_access.h - who may read the bucket: checks a request's signature as S3 does. */
#ifndef DSA_TESTS_S3_ACCESS_H
#define DSA_TESTS_S3_ACCESS_H

#include <stdbool.h>
#include <time.h>

struct http_request;
struct s3_error;

struct s3_access {
	const char *id, *secret; /* NULL: nobody has a key, anybody may read */
	const char *token;       /* of a session that the key belongs to, or NULL */
	const char *region;
	bool anonymous; /* requests without a signature are served, too */
	bool expired;   /* the token is too old */
};

/* False: not with this request, error says why. */
bool s3_access_check(const struct s3_access *access, const struct http_request *request,
		     time_t now, struct s3_error *error);

#endif
