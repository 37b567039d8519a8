/* emulated_storage_test.c - what a text of settings means to a page. */
#include "profiler/io_page.h"
#include "profiler/preload/emulated_storage.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdlib.h>

static struct io_page *page;

static int setup(void **state)
{
	(void)state;
	page = calloc(1, sizeof(*page));
	return page == NULL;
}

static int teardown(void **state)
{
	(void)state;
	free(page);
	return 0;
}

TEST_WITH(keys_are_read_and_others_left, setup, teardown)
{
	emulated_storage_read("workers=3,storage_bandwidth=25MB/s,dataset=/a%2Cb/"
			      "ccccccccccccccccccccccccccccccccccccccccccccccccccccccc,"
			      "storage_latency=4000000ns,,prep_delay=2ms",
			      page);
	assert_float_equal(page->storage_bandwidth, 25e6, 0);
	assert_float_equal(page->storage_latency, .004, 1e-12);
	assert_float_equal(page->prep_delay, .002, 1e-12);
}

TEST_WITH(the_last_one_wins, setup, teardown)
{
	emulated_storage_read("storage_bandwidth=5M,storage_latency=1ms,"
			      "storage_bandwidth=0,storage_latency=0s",
			      page);
	assert_float_equal(page->storage_bandwidth, 0, 0);
	assert_float_equal(page->storage_latency, 0, 0);
}

TEST_WITH(what_makes_no_sense_is_left, setup, teardown)
{
	emulated_storage_read(NULL, page);
	emulated_storage_read("", page);
	emulated_storage_read("storage_bandwidth,prep_delay=x,storage_latency=", page);
	assert_float_equal(page->storage_bandwidth, 0, 0);
	assert_float_equal(page->storage_latency, 0, 0);
	assert_float_equal(page->prep_delay, 0, 0);
}
