/* other_inputs_test.c - what is measured of other inputs never costs a result. */
#include "profiler/bench/other_inputs.h"
#include "profiler/profile.h"
#include "tests/lib/images.h"
#include "tests/lib/nomem.h"
#include "tests/lib/session.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a run that waits for prep of JPEGs, with time for the fewest samples. */
static size_t measured(unsigned failing)
{
	struct trace *trace = session_new();
	struct profile profile;
	size_t recipes;

	assert_non_null(trace);
	snprintf(trace->loader.dataset, sizeof(trace->loader.dataset), "%s",
		 images_good);
	snprintf(trace->loader.prep, sizeof(trace->loader.prep), "image");
	trace->loader.size = 16;
	profile_init(&profile);
	profile.status.id = STATUS_COMPLETE;
	profile.stalls[STAGE_PREP].value = .5;
	profile.budget_s = 0;
	nomem_at(failing);
	other_inputs_measure(trace, &profile);
	nomem_at(0);
	recipes = profile.recipe_count;
	profile_free(&profile);
	session_free(trace);
	return recipes;
}

static void other_inputs_are_measured(void **state)
{
	(void)state;
	assert_int_equal(measured(0), 6);
}

static void without_memory_there_are_fewer(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth < 80; nth++)
		assert_true(measured(nth) <= 6);
	assert_int_equal(measured(1), 0);
}

static void a_signal_that_waits_ends_it(void **state)
{
	sigset_t interrupt;
	int number;

	(void)state;
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	pthread_kill(pthread_self(), SIGINT);
	assert_int_equal(measured(0), 0);
	assert_int_equal(sigwait(&interrupt, &number), 0);
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_inputs_are_measured),
		cmocka_unit_test(without_memory_there_are_fewer),
		cmocka_unit_test(a_signal_that_waits_ends_it),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("other_inputs", tests, images_setup,
					   images_teardown);
}
