/* keys_test.c - listings that don't end. */
#include "loader/source/keys/keys.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_picture(const void *context, const char *name)
{
	(void)context;
	return strstr(name, ".jpg") != NULL;
}

/* Adds ascending keys until one is refused; returns how many were not. */
static unsigned add_all(struct keys *keys, const char *ending)
{
	char key[64];
	unsigned i = 0;

	do
		snprintf(key, sizeof(key), "a/%09u%s", i++, ending);
	while (keys_add(keys, key, strlen(key), 1, "\"e\"") == 0);
	return i - 1;
}

TEST(keys_without_end_are_refused)
{
	static const char *const endings[] = {".jpg", ".txt"};

	for (int i = 0; i < 2; i++) {
		struct keys keys = {
			.prefix = "", .most = 1000, .is_sample = is_picture};

		assert_int_equal(add_all(&keys, endings[i]), 1000);
		assert_int_equal(keys.error.code, EFBIG);
		assert_non_null(strstr(keys.error.message, "more than 1000 keys"));
		keys_fini(&keys);
	}
}

/* Nor may those that nobody can ask for go on for ever. */
TEST(keys_that_are_too_long_count_too)
{
	struct keys keys = {.prefix = "", .most = 10, .is_sample = is_picture};
	char key[2000];
	int count = 0;

	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	while (count < 20 && keys_add(&keys, key, strlen(key), 1, "") == 0)
		count++;
	assert_int_equal(count, 10);
	assert_int_equal(keys.ignored, 10);
	keys_fini(&keys);
}
