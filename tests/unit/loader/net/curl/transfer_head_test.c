/* transfer_head_test.c - what is kept of the head of an answer. */
#include "loader/net/curl/transfer.h"
#include "loader/net/curl/transfer_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct transfer transfer;

static void line(const char *text)
{
	char bytes[128];

	strcpy(bytes, text);
	assert_int_equal(transfer_head(bytes, 1, strlen(bytes), &transfer),
			 strlen(text));
}

static void one_with_control_characters_is_not_kept(void **state)
{
	(void)state;
	line("ETag: \"a\"\r\n");
	assert_string_equal(transfer.etag, "\"a\"");
	line("HTTP/1.1 200 OK\r\n");
	line("ETag: \"a\rX-Injected: b\"\r\n");
	assert_string_equal(transfer.etag, "");
}

static void behind_a_redirect_another_answer_begins(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_with_control_characters_is_not_kept),
		cmocka_unit_test(behind_a_redirect_another_answer_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
