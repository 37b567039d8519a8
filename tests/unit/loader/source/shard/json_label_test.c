#include "loader/source/shard/json_label.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *label_of(const char *text)
{
	static char label[16];

	assert_int_equal(json_label(text, strlen(text), label, sizeof(label)), 0);
	return label;
}

static int result_of(const char *text)
{
	char label[16];

	return json_label(text, strlen(text), label, sizeof(label));
}

static void a_value_is_its_own_label(void **state)
{
	(void)state;
	assert_string_equal(label_of(" 12\n"), "12");
	assert_string_equal(label_of("\"dog\""), "dog");
}

static void the_best_member_is_the_label(void **state)
{
	(void)state;
	assert_string_equal(label_of("{\"class\": \"c\", \"cls\": 2, \"x\": 1}"), "2");
	assert_string_equal(label_of("{\"label\": 1, \"class\": 3}"), "1");
	assert_string_equal(label_of("{\"label\": [1, {\"label\": 2}], \"cls\": -3}"),
			    "-3");
	assert_string_equal(label_of("{\"a\": {\"label\": 9}, \"b\": \"}\\\"\", "
				     "\"la\\u0062el\": \"\\u00e4\\ud83d\\ude00\\/\"}"),
			    "\xc3\xa4\xf0\x9f\x98\x80/");
}

static void what_has_none_says_so(void **state)
{
	(void)state;
	assert_int_equal(result_of("{}"), -ENOENT);
	assert_int_equal(result_of("{\"caption\": \"x\", \"label\": null}"), -ENOENT);
	assert_int_equal(result_of("[1, 2]"), -ENOENT);
	assert_int_equal(result_of("true"), -ENOENT);
	assert_int_equal(result_of("\"sixteen letters.\""), -EMSGSIZE);
	assert_string_equal(label_of("\"fifteen letters\""), "fifteen letters");
}

static void what_is_no_json_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "{",
					  "{\"label\": 1",
					  "{\"label\" 1}",
					  "{label: 1}",
					  "1 2",
					  "\"\\u12\"",
					  "\"\\ud800x\"",
					  "\"\\udc00\"",
					  "\"\\u0000\"",
					  "\"a\nb\"",
					  "[1, 2}",
					  "\"\\x\"",
					  "{\"a\": ]}",
					  "{\"label\": 1},"};
	char deep[100];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (result_of(bad[i]) != -EBADMSG)
			fail_msg("%s: %d", bad[i], result_of(bad[i]));
	memset(deep, '[', 65);
	memset(deep + 65, ']', 35);
	assert_int_equal(json_label(deep, 100, deep, 1), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_its_own_label),
		cmocka_unit_test(the_best_member_is_the_label),
		cmocka_unit_test(what_has_none_says_so),
		cmocka_unit_test(what_is_no_json_is_refused),
	};

	return cmocka_run_group_tests_name("json_label", tests, NULL, NULL);
}
