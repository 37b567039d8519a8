#include "loader/base/choice.h"
#include "loader/base/variants.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <string.h>

TEST(a_word_has_its_place_among_the_choices)
{
	assert_int_equal(choice_find("skip|fail", "skip"), 0);
	assert_int_equal(choice_find("pread|pread-direct|uring", "pread-direct"), 1);
	assert_int_equal(choice_find("one", "one"), 0);
}

TEST(what_is_no_choice_has_none)
{
	static const char *const bad[] = {"", "ski", "skips", "skip|fail", "|", "no"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(choice_find("skip|fail", bad[i]), -1);
}

TEST(choices_are_listed_in_words)
{
	char text[CHOICE_TEXT];

	assert_string_equal(choice_list("a", " or ", text), "a");
	assert_string_equal(choice_list("a|b", " or ", text), "a or b");
	assert_string_equal(choice_list("a|b|c", " and ", text), "a, b and c");
	assert_string_equal(choice_list("1 to 9", " or ", text), "1 to 9");
}

TEST(every_list_of_variants_fits)
{
	char text[CHOICE_TEXT];

	assert_true(strlen(choice_list(CACHE_POLICY_NAMES, " and ", text)) <
		    CHOICE_TEXT - 1);
	assert_string_equal(choice_list(FETCH_ENGINE_NAMES, " or ", text),
			    "auto, pread, pread-direct, uring, uring-direct or net");
}
