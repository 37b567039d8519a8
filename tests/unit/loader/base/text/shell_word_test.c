#include "loader/base/error.h"
#include "loader/base/text/shell_word.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void assert_words(const char *text, size_t count, const char *const *words)
{
	struct error err = {0};
	char **found = shell_split(text, &err);

	if (found == NULL)
		fail_msg("%s: %s", text, err.message);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(found[i], words[i]);
	assert_null(found[count]);
	free(found);
}

#define ASSERT_WORDS(text, ...)                                                        \
	assert_words(text,                                                             \
		     sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),     \
		     (const char *[]){__VA_ARGS__})

TEST(words_are_taken_apart_as_by_a_shell)
{
	ASSERT_WORDS("a", "a");
	ASSERT_WORDS("  ./train --batch\t64\n", "./train", "--batch", "64");
	ASSERT_WORDS("a 'b c' \"d e\" f\\ g", "a", "b c", "d e", "f g");
	ASSERT_WORDS("a'b'\"c\"d", "abcd");
	ASSERT_WORDS("'' \"\"", "", "");
	ASSERT_WORDS("'a\\b|$' \"\\\"\\\\\\$\\`\\a\" \\$", "a\\b|$", "\"\\$`\\a", "$");
	ASSERT_WORDS("x={job} a,b=c", "x={job}", "a,b=c");
}

static void assert_refused(const char *text, const char *why)
{
	struct error err = {0};

	assert_null(shell_split(text, &err));
	assert_int_equal(err.code, EINVAL);
	if (strstr(err.message, why) == NULL)
		fail_msg("%s: %s", text, err.message);
}

TEST(what_would_need_a_shell_is_refused)
{
	static const char *const texts[] = {"a | b", "a; b",  "a && b", "a > b",
					    "a $B",  "a `b`", "a *",    "\"$B\""};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i], "means something to a shell");
	assert_refused("a 'b", "' is not closed");
	assert_refused("a \"b\\\"", "\" is not closed");
	assert_refused("a \\", "nothing follows");
	assert_refused("", "empty");
	assert_refused(" \t", "empty");
}

TEST(a_written_word_is_read_back)
{
	static const char *const words[] = {"",    "a",     "it's",  "a b", "$HOME|",
					    "\\n", "\"x\"", "{job}", "é\n"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *text = NULL, **found;
		size_t size = 0;
		FILE *to = open_memstream(&text, &size);

		assert_non_null(to);
		shell_word(to, words[i]);
		fclose(to);
		found = shell_split(text, NULL);
		assert_non_null(found);
		assert_string_equal(found[0], words[i]);
		assert_null(found[1]);
		free(found);
		free(text);
	}
}
