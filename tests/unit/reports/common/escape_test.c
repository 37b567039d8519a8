#include "reports/common/escape.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static char *written(void (*write)(FILE *out, const char *text), const char *text)
{
	char *result = NULL;
	size_t size;
	FILE *out = open_memstream(&result, &size);

	write(out, text);
	fclose(out);
	return result;
}

static void becomes(void (*write)(FILE *out, const char *text), const char *text,
		    const char *expected)
{
	char *result = written(write, text);

	assert_string_equal(result, expected);
	free(result);
}

TEST(what_would_act_becomes_visible)
{
	becomes(escape_plain, "a b", "a b");
	becomes(escape_plain, "a\nb\tc\r", "a\\nb\\tc\\r");
	becomes(escape_plain, "\x1b[31mred", "\\x1b[31mred");
	becomes(escape_plain, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xa7",
		"gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xa7");
	becomes(escape_plain, "\xe2\x80\xaegpj.exe", "\\u202egpj.exe");
	becomes(escape_plain,
		"\xc2\x9b"
		"31m",
		"\\x9b31m");
}

TEST(what_is_not_utf8_becomes_hexadecimal)
{
	becomes(escape_plain, "\xff", "\\xff");
	becomes(escape_plain, "\xc3", "\\xc3");
	becomes(escape_plain, "\xc0\xaf", "\\xc0\\xaf");          /* "/", overlong */
	becomes(escape_plain, "\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
	becomes(escape_plain, "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80");
	becomes(escape_plain, "\xe2\x82", "\\xe2\\x82");
}

TEST(html_has_no_markup_left)
{
	becomes(escape_html, "<a href=\"x\" b='y'>&amp;\n",
		"&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;\\n");
}

TEST(width_counts_characters)
{
	assert_int_equal(escape_width("abc"), 3);
	assert_int_equal(escape_width("a\n"), 3);
	assert_int_equal(escape_width("\xc3\xbc"), 1);
	assert_int_equal(escape_width_part("\xc3\xbc"
					   "abc",
					   3),
			 2);
}

TEST(a_tail_fits)
{
	const char *cut;

	assert_string_equal(escape_tail("images/", 7, &cut), "images/");
	assert_string_equal(cut, "");
	assert_string_equal(escape_tail("/data/images/", 10, &cut), "images/");
	assert_string_equal(cut, "...");
	assert_string_equal(escape_tail("\n\n\n", 5, &cut), "\n");
	assert_string_equal(escape_tail("abc", 0, &cut), "");
}

TEST(a_copy_is_utf8)
{
	char *copy = escape_utf8("a\n\xff\xc3\xbc");

	assert_string_equal(copy, "a\n\\xff\xc3\xbc");
	free(copy);
	nomem_at(1);
	assert_null(escape_utf8("a"));
	nomem_at(0);
}
