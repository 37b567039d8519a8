/* s3_error.h - errors as S3 tells them. */
#ifndef DSA_TESTS_S3_ERROR_H
#define DSA_TESTS_S3_ERROR_H

#include <stdbool.h>
#include <stdio.h>

struct s3_error {
	unsigned status; /* of HTTP; 0 until something fails */
	const char *code;
	char message[256];
	char *more; /* elements of XML beside the message, or NULL; owned */
};

/* Returns false, for "return s3_error_set(...)". */
bool s3_error_set(struct s3_error *error, unsigned status, const char *code,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* One element more. Returns false. */
bool s3_error_add(struct s3_error *error, const char *name, const char *text);

/* The body, to be freed; NULL when memory was short. */
char *s3_error_body(const struct s3_error *error, const char *resource);

void s3_error_fini(struct s3_error *error);

/* <name>text</name>, with what XML wants escaped. */
void s3_put_element(FILE *out, const char *name, const char *text);

#endif
