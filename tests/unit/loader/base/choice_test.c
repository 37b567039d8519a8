#include "loader/base/choice.h"
#include "loader/base/variants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_word_has_its_place_among_the_choices(void **state)
{
	(void)state;
	assert_int_equal(choice_find("skip|fail", "skip"), 0);
	assert_int_equal(choice_find("pread|pread-direct|uring", "pread-direct"), 1);
	assert_int_equal(choice_find("one", "one"), 0);
}

static void what_is_no_choice_has_none(void **state)
{
	static const char *const bad[] = {"", "ski", "skips", "skip|fail", "|", "no"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(choice_find("skip|fail", bad[i]), -1);
}

static void choices_are_listed_in_words(void **state)
{
	char text[CHOICE_TEXT];

	(void)state;
	assert_string_equal(choice_list("a", " or ", text), "a");
	assert_string_equal(choice_list("a|b", " or ", text), "a or b");
	assert_string_equal(choice_list("a|b|c", " and ", text), "a, b and c");
	assert_string_equal(choice_list("1 to 9", " or ", text), "1 to 9");
}

static void every_list_of_variants_fits(void **state)
{
	char text[CHOICE_TEXT];

	(void)state;
	assert_true(strlen(choice_list(CACHE_POLICY_NAMES, " and ", text)) <
		    CHOICE_TEXT - 1);
	assert_string_equal(choice_list(FETCH_ENGINE_NAMES, " or ", text),
			    "auto, pread, pread-direct, uring, uring-direct or net");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_has_its_place_among_the_choices),
		cmocka_unit_test(what_is_no_choice_has_none),
		cmocka_unit_test(choices_are_listed_in_words),
		cmocka_unit_test(every_list_of_variants_fits),
	};

	return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
