/*
 * test.h - what unit tests are written with. A test is named where it is defined, and no
 * list names it again:
 *
 *	TEST(buckets_are_powers_of_two)
 *	{
 *		assert_int_equal(trace_bucket(4), 2);
 *	}
 *
 * They run in the order of the file. main() is in test.c: an argument names those that are
 * run, by a pattern as '*memory*'.
 */
#ifndef DSA_TESTS_TEST_H
#define DSA_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 calls it by this name alone, and has a macro that takes the name of a stage's op. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif
#undef stop

/* With what runs before and after it (int function(void **state), or NULL), which it shares
 * `state` with. */
#define TEST_WITH(name, setup, teardown)                                               \
	static void name(void **state);                                                \
	TEST_ADD(constructor, name, #name, name, setup, teardown, NULL)                \
	static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* One that goes before all others of its file: for what these leave behind, as threads. */
#define TEST_FIRST(name, setup, teardown)                                              \
	static void name(void **state);                                                \
	TEST_ADD(constructor(1000), name, #name, name, setup, teardown, NULL)          \
	static void name(__attribute__((unused)) void **state)

/* A function that is a test of each of several words, one of which is *state. */
#define TEST_OF(function, word)                                                        \
	static char test_of_##function##_##word[] = #word;                             \
	TEST_ADD(constructor, function##_##word, #function " (" #word ")", function,   \
		 NULL, NULL, test_of_##function##_##word)                              \
	_Static_assert(1, "takes the semicolon")

/* What runs before and after all tests of a file. */
#define TEST_GROUP(setup, teardown)                                                    \
	__attribute__((constructor)) static void test_group_around(void)               \
	{                                                                              \
		test_group(setup, teardown);                                           \
	}                                                                              \
	_Static_assert(1, "takes the semicolon")

#define TEST_ADD(when, id, name, function, setup, teardown, word)                      \
	__attribute__((when)) static void test_add_##id(void)                          \
	{                                                                              \
		static const struct CMUnitTest test = {name, function, setup,          \
						       teardown, word};                \
		test_add(&test);                                                       \
	}

void test_add(const struct CMUnitTest *test);
void test_group(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
