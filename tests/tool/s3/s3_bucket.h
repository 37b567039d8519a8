/*
 * s3_bucket.h - a folder as a bucket: its files are the objects, their paths the keys.
 *
 * Keys that no file can have ("a//b", "../a") are in no bucket here.
 */
#ifndef DSA_TESTS_S3_BUCKET_H
#define DSA_TESTS_S3_BUCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;

/* What an ETag stands for: replacing the file or writing to it gives another. */
struct s3_version {
	uint64_t size, inode;
	struct timespec modified;
};

struct s3_object {
	char *key;
	struct s3_version version;
	unsigned tries; /* requests for it so far */
};

struct s3_bucket {
	const char *folder;
	int fd;
	struct s3_object *objects; /* by key, as bytes */
	size_t count, room;
};

enum { S3_ETAG = sizeof("\"0123456789abcdef0123456789abcdef\"") };

/* 0 or -errno. */
int s3_bucket_open(struct s3_bucket *bucket, const char *folder, struct error *err);
void s3_bucket_close(struct s3_bucket *bucket);

/* Looks at the folder again; the counts of tries stay. 0 or -errno. */
int s3_bucket_scan(struct s3_bucket *bucket, struct error *err);

/* The number of the first object whose key is not less. */
size_t s3_bucket_from(const struct s3_bucket *bucket, const char *key);

/* NULL: there was none at the last scan. */
struct s3_object *s3_bucket_find(const struct s3_bucket *bucket, const char *key);

/* Opens an object as it is now. Its descriptor, or -1. */
int s3_bucket_read(const struct s3_bucket *bucket, const char *key,
		   struct s3_version *version);

/* With its quotes. Another salt gives another. */
void s3_etag(const char *key, const struct s3_version *version, uint64_t salt,
	     char etag[S3_ETAG]);

/* Of a key. */
uint64_t s3_hash(const char *text);

#endif
