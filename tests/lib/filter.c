/* filter.c - a unit test's first argument names those of its tests that are run: a
 * pattern, as '*memory*'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The C library hands these to whatever runs before main(). */
__attribute__((constructor)) static void filter_tests(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
}
