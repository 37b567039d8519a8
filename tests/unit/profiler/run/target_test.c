#include "loader/base/error.h"
#include "profiler/run/target.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static int seven(void *context)
{
	(void)context;
	return 7;
}

static void a_function_runs_in_a_process(void **state)
{
	sigset_t mask;
	const struct target_config config = {
		.run = seven, .session = "", .background = true, .mask = &mask};
	struct target target;
	struct error err = {0};
	int status;

	(void)state;
	sigemptyset(&mask);
	assert_int_equal(target_start(&target, &config, &err), 0);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void a_function_that_can_not_be_started_is_an_error(void **state)
{
	const struct target_config config = {.run = seven, .session = ""};
	struct rlimit limit, none;
	struct target target;
	struct error err = {0};
	int result;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	result = target_start(&target, &config, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, -EMFILE);
	assert_non_null(strstr(err.message, "cannot start a process"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_runs_in_a_process),
		cmocka_unit_test(a_function_that_can_not_be_started_is_an_error),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
