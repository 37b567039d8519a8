/* sigv4_test.c - the published examples of Amazon's S3 API reference, and what is none. */
#include "tests/lib/http_request.h"
#include "tests/lib/sigv4.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "Host: examplebucket.s3.amazonaws.com\r\n"
#define REST                                                                           \
	"x-amz-content-sha256: " SIGV4_EMPTY "\r\n"                                    \
	"x-amz-date: 20130524T000000Z\r\n\r\n"
#define HEADERS "host;x-amz-content-sha256;x-amz-date"

static const struct sigv4 scope = {
	"AKIAIOSFODNN7EXAMPLE", "20130524", "us-east-1", "s3", HEADERS, ""};

static void sigv4_check(const char *head, const char *headers, const char *wanted)
{
	char text[HTTP_HEAD], signature[SIGV4_HEX];
	static struct http_request request;
	char *canonical, *string;

	strcpy(text, head);
	assert_true(http_request_parse(text, &request));
	canonical = sigv4_canonical(&request, headers);
	string = sigv4_string(&scope, "20130524T000000Z", canonical);
	sigv4_sign(&scope, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", string,
		   signature);
	assert_string_equal(signature, wanted);
	free(string);
	free(canonical);
}

TEST(sigv4_get_object)
{
	sigv4_check("GET /test.txt HTTP/1.1\r\n" HOST "Range: bytes=0-9\r\n" REST,
		    "host;range;x-amz-content-sha256;x-amz-date",
		    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(sigv4_get_bucket_lifecycle)
{
	sigv4_check("GET /?lifecycle HTTP/1.1\r\n" HOST REST, HEADERS,
		    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(sigv4_list_objects)
{
	static const char *const wanted =
		"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";

	sigv4_check("GET /?max-keys=2&prefix=J HTTP/1.1\r\n" HOST REST, HEADERS,
		    wanted);
	sigv4_check("GET /?prefix=%4A&max-keys=2 HTTP/1.1\r\n" HOST REST, HEADERS,
		    wanted);
}

TEST(sigv4_canonical_forms)
{
	char head[] = "GET /a%2bb/%C3%A9%20%25?b=2%2F3&a-b=1&a=~&c HTTP/1.1\r\n"
		      "Host: h\r\nX-Amz-Meta-A:  one   two \r\nx-amz-meta-a: 3\r\n\r\n";
	static struct http_request request;
	char *canonical;

	assert_true(http_request_parse(head, &request));
	canonical = sigv4_canonical(&request, "host;x-amz-meta-a");
	assert_string_equal(canonical,
			    "GET\n/a%2Bb/%C3%A9%20%25\na=~&a-b=1&b=2%2F3&c=\n"
			    "host:h\nx-amz-meta-a:one two,3\n\n"
			    "host;x-amz-meta-a\n");
	free(canonical);
}

TEST(sigv4_headers_of_the_form)
{
	struct sigv4 found;
	char with_spaces[512], without[512];
	static const char form[] =
		"AWS4-HMAC-SHA256 Credential=ID/20130524/eu-west-1/s3/aws4_request,%s"
		"SignedHeaders=host;x-amz-date,%sSignature=" SIGV4_EMPTY;

	snprintf(with_spaces, sizeof(with_spaces), form, " ", " ");
	snprintf(without, sizeof(without), form, "", "");
	assert_true(sigv4_parse(with_spaces, &found));
	assert_true(sigv4_parse(without, &found));
	assert_string_equal(found.id, "ID");
	assert_string_equal(found.date, "20130524");
	assert_string_equal(found.region, "eu-west-1");
	assert_string_equal(found.service, "s3");
	assert_string_equal(found.headers, "host;x-amz-date");
	assert_string_equal(found.signature, SIGV4_EMPTY);
}

TEST(sigv4_headers_of_none)
{
	static const char *const wrong[] = {
		"",
		"AWS ID:signature",
		"AWS4-HMAC-SHA256",
		"AWS4-HMAC-SHA256 ",
		"AWS4-HMAC-SHA256 Credential=",
		"AWS4-HMAC-SHA256 Credential=ID",
		"AWS4-HMAC-SHA256 Credential=ID, SignedHeaders=host, "
		"Signature=" SIGV4_EMPTY,
		"AWS4-HMAC-SHA256 Credential=I/d/r/s3/aws4_request, "
		"Signature=" SIGV4_EMPTY,
		"AWS4-HMAC-SHA256 Credential=I/d/r/s3/aws4_request, SignedHeaders=host",
		"AWS4-HMAC-SHA256 Credential=I/d/r/s3/aws4_request, "
		"SignedHeaders=host, "
		"Signature=0",
		"AWS4-HMAC-SHA256 Credential=I/d/r/s3/aws4_request, "
		"SignedHeaders=host, "
		"Signature=" SIGV4_EMPTY ", more",
	};
	struct sigv4 found;
	char text[512];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		strcpy(text, wrong[i]);
		assert_false(sigv4_parse(text, &found));
	}
}

TEST(http_request_of_none)
{
	static const char *const wrong[] = {
		"",
		"\r\n",
		"GET\r\n\r\n",
		"GET /\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET http://host/ HTTP/1.1\r\n\r\n",
		"GET /%00 HTTP/1.1\r\n\r\n",
		"GET /%4 HTTP/1.1\r\n\r\n",
		"GET /%zz HTTP/1.1\r\n\r\n",
		"GET /\x7f HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
		"GET / HTTP/1.1\r\n: h\r\n\r\n",
	};
	static struct http_request request;
	char head[512];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		strcpy(head, wrong[i]);
		assert_false(http_request_parse(head, &request));
	}
}
