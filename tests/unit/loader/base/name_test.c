#include "loader/base/name.h"
#include "tests/lib/test.h"

#include <stdint.h>
#include <string.h>

static void expect(const char *name, const char *escaped)
{
	char out[64];

	assert_string_equal(name_escape(name, out, sizeof(out)), escaped);
}

TEST(plain_names_stay_as_they_are)
{
	expect("", "");
	expect("images/a b.jpg", "images/a b.jpg");
	expect("<script>$x`%s&", "<script>$x`%s&");
	expect("gr\xc3\xbc\xc3\x9f-\xe7\x8c\xab-\xf0\x9f\x90\x88",
	       "gr\xc3\xbc\xc3\x9f-\xe7\x8c\xab-\xf0\x9f\x90\x88");
}

/* The first and last of each row of them, and their neighbours. */
TEST(what_is_hidden_has_bounds)
{
	static const uint32_t hidden[] = {
		0,      0x1f,   0x7f,   0x9f,   0x61c,  0x200b, 0x200f, 0x2028,  0x202e,
		0x2060, 0x206f, 0xfeff, 0xfff0, 0xfffb, 0xfffe, 0xffff, 0x10ffff};
	static const uint32_t shown[] = {0x20,   0x7e,   0xa0,   0x61b,  0x61d,  0x200a,
					 0x2010, 0x2027, 0x202f, 0x205f, 0x2070, 0xfefe,
					 0xff00, 0xffef, 0xfffc, 0xfffd, 0x10000};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (!name_hidden(hidden[i]))
			fail_msg("U+%04X is shown", hidden[i]);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (name_hidden(shown[i]))
			fail_msg("U+%04X is hidden", shown[i]);
}

TEST(what_could_break_a_line_is_escaped)
{
	expect("a\nb\tc\rd", "a\\nb\\tc\\rd");
	expect("\"'\\", "\\\"\\'\\\\");
	expect("\x1b[31m\x7f", "\\x1b[31m\\x7f");
	expect("\xc2\x9b", "\\xc2\\x9b");          /* a C1 control */
	expect("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
}

TEST(what_is_no_utf8_is_escaped)
{
	expect("\xff\xfe", "\\xff\\xfe");
	expect("\xc3", "\\xc3");
	expect("\xe7\x8c", "\\xe7\\x8c");
	expect("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
	expect("\xe0\x80\xaf", "\\xe0\\x80\\xaf");          /* overlong */
	expect("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
	expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
}

TEST(a_long_name_keeps_its_end)
{
	char out[12];

	assert_string_equal(name_escape("0123456789a", out, 12), "0123456789a");
	assert_string_equal(name_escape("0123456789ab", out, 12), "...456789ab");
	assert_string_equal(name_escape("012\n\n\n\nab", out, 12), "...\\n\\n\\nab");
	assert_string_equal(name_escape("12\n\n\n\nb", out, 11), "...\\n\\n\\nb");
	assert_string_equal(name_escape("0123456789ab", out, 8), "...89ab");
}
