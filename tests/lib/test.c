/* test.c - runs the tests that a file of unit tests defines. */
#include "tests/lib/test.h"

#include <errno.h>

enum { MOST_TESTS = 128 };

static struct CMUnitTest tests[MOST_TESTS];
static size_t count;
static CMFixtureFunction begin, end;

void test_add(const struct CMUnitTest *test)
{
	if (count < MOST_TESTS)
		tests[count] = *test;
	count++;
}

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	begin = setup;
	end = teardown;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	assert_in_range(count, 1, MOST_TESTS);
	return _cmocka_run_group_tests(program_invocation_short_name, tests, count,
				       begin, end);
}
