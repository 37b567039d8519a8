/* s3_listing.h - ListObjectsV2: pages of keys. */
#ifndef DSA_TESTS_S3_LISTING_H
#define DSA_TESTS_S3_LISTING_H

#include <stdint.h>

struct http_request;
struct s3_bucket;
struct s3_error;

/*
 * The page that is asked for, to be freed; NULL: error says why. A page without a
 * continuation token looks at the folder again. `salt` is that of the ETags.
 */
char *s3_listing_page(struct s3_bucket *bucket, const char *name,
		      const struct http_request *request, uint64_t salt,
		      struct s3_error *error);

#endif
