#include "loader/source/shard/json_label.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

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

TEST(a_value_is_its_own_label)
{
	assert_string_equal(label_of(" 12\n"), "12");
	assert_string_equal(label_of("\"dog\""), "dog");
}

TEST(the_best_member_is_the_label)
{
	assert_string_equal(label_of("{\"class\": \"c\", \"cls\": 2, \"x\": 1}"), "2");
	assert_string_equal(label_of("{\"label\": 1, \"class\": 3}"), "1");
	assert_string_equal(label_of("{\"label\": [1, {\"label\": 2}], \"cls\": -3}"),
			    "-3");
	assert_string_equal(label_of("{\"a\": {\"label\": 9}, \"b\": \"}\\\"\", "
				     "\"la\\u0062el\": \"\\u00e4\\ud83d\\ude00\\/\"}"),
			    "\xc3\xa4\xf0\x9f\x98\x80/");
}

TEST(what_has_none_says_so)
{
	assert_int_equal(result_of("{}"), -ENOENT);
	assert_int_equal(result_of("{\"caption\": \"x\", \"label\": null}"), -ENOENT);
	assert_int_equal(result_of("[1, 2]"), -ENOENT);
	assert_int_equal(result_of("true"), -ENOENT);
	assert_int_equal(result_of("\"sixteen letters.\""), -EMSGSIZE);
	assert_string_equal(label_of("\"fifteen letters\""), "fifteen letters");
}

TEST(what_is_no_json_is_refused)
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

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (result_of(bad[i]) != -EBADMSG)
			fail_msg("%s: %d", bad[i], result_of(bad[i]));
	memset(deep, '[', 65);
	memset(deep + 65, ']', 35);
	assert_int_equal(json_label(deep, 100, deep, 1), -EBADMSG);
}
