#include "profiler/host/load_watch.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* A machine in files, and two jobs on it that go through the same windows. */
static char root[TREE_PATH];
static struct trace *traces[2];
static struct load_watch watch;

static void put_machine(unsigned busy, unsigned idle)
{
	char text[256];

	snprintf(text, sizeof(text), "cpu  1 2 3\ncpu0 %u 0 0 %u 0 0 0 0 0 0\n", busy,
		 idle);
	tree_put(root, "/proc/stat", text);
}

static int set_up(void **state)
{
	(void)state;
	tree_make(root);
	put_machine(0, 0);
	tree_put(root, "/proc/7/stat", "7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1\n");
	tree_put(root, "/proc/7/task/7/children", "");
	traces[0] = session_new();
	traces[1] = session_new();
	load_watch_init(&watch, 0, NULL);
	watch.host.root = root;
	watch.host.first = 7;
	CPU_ZERO(&watch.host.cpus);
	CPU_SET(0, &watch.host.cpus);
	return traces[0] == NULL || traces[1] == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_remove(root);
	session_free(traces[0]);
	session_free(traces[1]);
	return 0;
}

/* The moment that was looked at last lies so much earlier, and all before it. */
static void let_pass(uint64_t ns)
{
	for (unsigned i = 0; i < watch.taken && i < LOAD_WATCH_PAST; i++)
		watch.past[i].time_ns -= ns;
}

static void look(void)
{
	load_watch_poll(&watch, traces, 2);
}

static struct trace_window *begin(void)
{
	struct trace_window *window = &traces[0]->windows[traces[0]->window_count++];

	window->state = TRACE_RUNNING;
	window->progress = TRACE_SETTLED;
	look();
	window->progress = TRACE_MEASURING;
	look();
	return window;
}

TEST_WITH(a_window_has_the_load_between_its_ends, set_up, tear_down)
{
	struct trace_window *window = begin();
	const struct trace_load *load = &traces[0]->loads[0];

	assert_int_equal(watch.taken, 1);
	look();
	assert_int_equal(watch.taken, 1);
	put_machine(80, 20);
	let_pass(1000 * MS);
	window->progress = TRACE_ENOUGH;
	window->state = TRACE_DONE;
	look();
	assert_int_equal(watch.taken, 2);
	assert_in_range(load->length_ns, 1000 * MS, 2000 * MS);
	assert_int_equal(load->own_ns, 0);
	assert_int_equal(load->others_ns, load->length_ns - 200 * MS);
	assert_memory_equal(load, &traces[1]->loads[0], sizeof(*load));
	look();
	assert_int_equal(watch.taken, 2);
}

TEST_WITH(a_short_window_has_that_of_a_quarter_of_a_second, set_up, tear_down)
{
	struct trace_window *window = begin();

	for (unsigned i = 0; i < 6; i++) {
		put_machine(10 * (i + 1), 0);
		let_pass(100 * MS);
		window->state = TRACE_DONE;
		look();
		window = begin();
	}
	assert_int_equal(watch.taken, 13); /* at each end, and this one's begin */
	assert_in_range(traces[0]->loads[0].length_ns, 100 * MS, 199 * MS);
	assert_in_range(traces[0]->loads[5].length_ns, 300 * MS, 399 * MS);
}

TEST_WITH(one_that_came_and_went_between_two_looks_has_some, set_up, tear_down)
{
	struct trace_window *window = begin();

	let_pass(500 * MS);
	window->state = TRACE_DONE;
	window = &traces[0]->windows[traces[0]->window_count++];
	window->progress = TRACE_MEASURING;
	window->state = TRACE_DONE;
	look();
	assert_in_range(traces[0]->loads[1].length_ns, 500 * MS, 1500 * MS);
}

TEST_WITH(one_that_was_never_measured_has_none, set_up, tear_down)
{
	struct trace_window *window = begin();

	let_pass(500 * MS);
	window->state = TRACE_DONE;
	window = &traces[0]->windows[traces[0]->window_count++];
	window->state = TRACE_REFUSED;
	look();
	assert_int_equal(traces[0]->loads[1].length_ns, 0);
	assert_int_equal(watch.window, 2);
}

TEST_WITH(one_that_begins_anew_has_that_of_its_new_end, set_up, tear_down)
{
	struct trace_window *window = begin();

	traces[0]->observe = 1;
	window->switch_ns = 1;
	look();
	let_pass(500 * MS);
	window->state = TRACE_DONE;
	look();
	traces[0]->loads[0].length_ns = 0;
	window->switch_ns = 2; /* between two looks */
	window->state = TRACE_RUNNING;
	look();
	let_pass(500 * MS);
	window->state = TRACE_DONE;
	look();
	assert_in_range(traces[0]->loads[0].length_ns, 500 * MS, 900 * MS);
}

TEST_WITH(old_moments_make_room, set_up, tear_down)
{
	struct trace_window *window = begin();

	for (unsigned i = 0; i < 3 * LOAD_WATCH_PAST; i++) {
		let_pass(MS);
		window->state = TRACE_DONE;
		look();
		window = begin();
	}
	assert_in_range(traces[0]->loads[3 * LOAD_WATCH_PAST - 1].length_ns,
			(LOAD_WATCH_PAST / 2 - 1) * MS, 250 * MS);
}
