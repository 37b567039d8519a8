/* transfer_head_test.c - what is kept of the head of an answer. */
#include "loader/net/curl/transfer.h"
#include "loader/net/curl/transfer_head.h"
#include "tests/lib/test.h"

#include <string.h>

static struct transfer transfer;

static void line(const char *text)
{
	char bytes[128];

	strcpy(bytes, text);
	assert_int_equal(transfer_head(bytes, 1, strlen(bytes), &transfer),
			 strlen(text));
}

TEST(one_with_control_characters_is_not_kept)
{
	line("ETag: \"a\"\r\n");
	assert_string_equal(transfer.etag, "\"a\"");
	line("HTTP/1.1 200 OK\r\n");
	line("ETag: \"a\rX-Injected: b\"\r\n");
	assert_string_equal(transfer.etag, "");
}

TEST(behind_a_redirect_another_answer_begins)
{
	line("Content-Range: bytes 2-5/10\r\n");
	line("ETag: \"a\"\r\n");
	assert_true(transfer.ranged);
	assert_int_equal(transfer.first, 2);
	assert_int_equal(transfer.last, 5);
	assert_int_equal(transfer.whole, 10);
	line("HTTP/1.1 206 Partial Content\r\n");
	assert_false(transfer.ranged);
	assert_string_equal(transfer.etag, "");
}
