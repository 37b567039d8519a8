/*
 * sigv4.h - signatures of requests to S3, version 4, as its servers compute them
 * ("Authenticating Requests: Using the Authorization Header", S3 API reference).
 */
#ifndef DSA_TESTS_SIGV4_H
#define DSA_TESTS_SIGV4_H

#include <stdbool.h>

struct http_request;

enum { SIGV4_HEX = 65, SIGV4_TIME = sizeof("20130524T000000Z") };

/* SHA-256 of nothing, which a request without a body has. */
#define SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* What an Authorization header says. */
struct sigv4 {
	const char *id, *date, *region, *service;
	const char *headers;   /* signed ones: "host;x-amz-date" */
	const char *signature; /* 64 hexadecimal digits */
};

/* Cuts up the header's value. False: it is not of this form. */
bool sigv4_parse(char *value, struct sigv4 *signature);

/* The request in canonical form, to be freed; NULL when memory was short. */
char *sigv4_canonical(const struct http_request *request, const char *headers);

/* What is signed, to be freed; NULL when memory was short. `time` is x-amz-date. */
char *sigv4_string(const struct sigv4 *scope, const char *time, const char *canonical);

/* Its signature. */
void sigv4_sign(const struct sigv4 *scope, const char *secret, const char *string,
		char signature[SIGV4_HEX]);

#endif
