/* s3_access.c - the checks of a signed request, in S3's words, in order. */
#include "tests/tool/s3/s3_access.h"
#include "tests/lib/http_request.h"
#include "tests/lib/sigv4.h"
#include "tests/tool/s3/s3_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SKEW_S = 15 * 60 };

struct access_case {
	const struct s3_access *access;
	const struct http_request *request;
	time_t now;
	struct sigv4 signature;
	const char *time; /* x-amz-date */
	struct s3_error *error;
};

static const char *access_header(const struct access_case *this, const char *name)
{
	return http_field(&this->request->header, name);
}

static bool access_scope(struct access_case *this)
{
	const struct sigv4 *signature = &this->signature;
	const char *region = this->access->region;

	if (strcmp(signature->service, "s3") != 0)
		return s3_error_set(
			this->error, 400, "AuthorizationHeaderMalformed",
			"The authorization header is malformed; incorrect "
			"service \"%.32s\". This endpoint belongs to \"s3\".",
			signature->service);
	if (strcmp(signature->region, region) == 0)
		return true;
	s3_error_set(
		this->error, 400, "AuthorizationHeaderMalformed",
		"The authorization header is malformed; the region '%.32s' is wrong; "
		"expecting '%s'",
		signature->region, region);
	return s3_error_add(this->error, "Region", region);
}

static bool access_key(struct access_case *this)
{
	const char *id = this->access->id, *token = this->access->token;
	const char *sent = access_header(this, "x-amz-security-token");

	if (id == NULL || strcmp(this->signature.id, id) != 0 ||
	    (token != NULL && sent == NULL)) {
		s3_error_set(this->error, 403, "InvalidAccessKeyId",
			     "The AWS Access Key Id you provided does not exist in our "
			     "records.");
		return s3_error_add(this->error, "AWSAccessKeyId", this->signature.id);
	}
	if (sent != NULL && (token == NULL || strcmp(sent, token) != 0))
		return s3_error_set(
			this->error, 400, "InvalidToken",
			"The provided token is malformed or otherwise invalid.");
	if (this->access->expired)
		return s3_error_set(this->error, 400, "ExpiredToken",
				    "The provided token has expired.");
	return true;
}

static void access_server_time(time_t now, char text[64])
{
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, 64, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static bool access_time(struct access_case *this)
{
	struct tm tm = {0};
	const char *end;
	char text[64];

	this->time = access_header(this, "x-amz-date");
	end = this->time != NULL ? strptime(this->time, "%Y%m%dT%H%M%SZ", &tm) : NULL;
	if (end == NULL || *end != 0)
		return s3_error_set(this->error, 403, "AccessDenied",
				    "AWS authentication requires a valid Date or "
				    "x-amz-date header");
	if (strncmp(this->signature.date, this->time, 8) != 0 ||
	    strlen(this->signature.date) != 8)
		return s3_error_set(this->error, 400, "AuthorizationHeaderMalformed",
				    "The authorization header is malformed; Invalid "
				    "credential date.");
	if (labs(timegm(&tm) - this->now) <= MOST_SKEW_S)
		return true;
	s3_error_set(
		this->error, 403, "RequestTimeTooSkewed",
		"The difference between the request time and the current time is too "
		"large.");
	access_server_time(this->now, text);
	s3_error_add(this->error, "RequestTime", this->time);
	s3_error_add(this->error, "ServerTime", text);
	return s3_error_add(this->error, "MaxAllowedSkewMilliseconds", "900000");
}

/* Requests have no body here. */
static bool access_payload(struct access_case *this)
{
	const char *hash = access_header(this, "x-amz-content-sha256");

	if (hash == NULL)
		return s3_error_set(this->error, 400, "InvalidRequest",
				    "Missing required header for this request: "
				    "x-amz-content-sha256");
	if (strcmp(hash, "UNSIGNED-PAYLOAD") == 0 || strcmp(hash, SIGV4_EMPTY) == 0)
		return true;
	if (strlen(hash) == SIGV4_HEX - 1)
		return s3_error_set(
			this->error, 400, "XAmzContentSHA256Mismatch",
			"The provided 'x-amz-content-sha256' header does not "
			"match what was computed.");
	return s3_error_set(this->error, 400, "InvalidArgument",
			    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a valid "
			    "sha256 value.");
}

static bool access_is_signed(const char *headers, const char *name)
{
	size_t length = strlen(name);

	while (headers != NULL) {
		if (strncmp(headers, name, length) == 0 &&
		    (headers[length] == ';' || headers[length] == 0))
			return true;
		headers = strchr(headers, ';');
		headers = headers != NULL ? headers + 1 : NULL;
	}
	return false;
}

/* The host and all that is Amazon's must be. */
static bool access_all_signed(struct access_case *this)
{
	const struct http_fields *header = &this->request->header;

	for (unsigned i = 0; i < header->count; i++) {
		const char *name = header->field[i].name;

		if ((strcmp(name, "host") != 0 && strncmp(name, "x-amz-", 6) != 0) ||
		    access_is_signed(this->signature.headers, name))
			continue;
		s3_error_set(this->error, 403, "AccessDenied",
			     "There were headers present in the request which were not "
			     "signed");
		return s3_error_add(this->error, "HeadersNotSigned", name);
	}
	return true;
}

static bool access_signature(struct access_case *this)
{
	const struct sigv4 *sent = &this->signature;
	char *canonical = sigv4_canonical(this->request, sent->headers), *string = NULL;
	char wanted[SIGV4_HEX] = "";

	if (canonical != NULL)
		string = sigv4_string(sent, this->time, canonical);
	if (string != NULL)
		sigv4_sign(sent, this->access->secret, string, wanted);
	if (strcmp(wanted, sent->signature) != 0) {
		s3_error_set(
			this->error, 403, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the "
			"signature you provided. Check your key and signing method.");
		s3_error_add(this->error, "AWSAccessKeyId", sent->id);
		s3_error_add(this->error, "StringToSign", string != NULL ? string : "");
		s3_error_add(this->error, "SignatureProvided", sent->signature);
		s3_error_add(this->error, "CanonicalRequest",
			     canonical != NULL ? canonical : "");
	}
	free(string);
	free(canonical);
	return this->error->status == 0;
}

static bool access_signed(struct access_case *this, char *authorization)
{
	static bool (*const checks[])(struct access_case *) = {
		access_scope,   access_key,        access_time,
		access_payload, access_all_signed, access_signature};

	if (strncmp(authorization, "AWS4-HMAC-SHA256", 16) != 0)
		return s3_error_set(
			this->error, 400, "InvalidRequest",
			"The authorization mechanism you have provided is not "
			"supported. Please use AWS4-HMAC-SHA256.");
	if (!sigv4_parse(authorization, &this->signature))
		return s3_error_set(this->error, 400, "AuthorizationHeaderMalformed",
				    "The authorization header is malformed.");
	for (unsigned i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (!checks[i](this))
			return false;
	return true;
}

bool s3_access_check(const struct s3_access *access, const struct http_request *request,
		     time_t now, struct s3_error *error)
{
	struct access_case this = {
		.access = access, .request = request, .now = now, .error = error};
	const char *authorization = http_field(&request->header, "authorization");
	char text[HTTP_HEAD];

	if (authorization == NULL)
		return access->id == NULL || access->anonymous ||
		       s3_error_set(error, 403, "AccessDenied", "Access Denied");
	strcpy(text, authorization);
	return access_signed(&this, text);
}
