/* consumer_still_test.c - what a window's ends wait for on a device of a job with DSA_SHARE:
 * after its shared loader is gone, for the loader of its own, too. */
#include "loader/base/trace.h"
#include "loader/gpu.h"
#include "loader/share/client/consumer_state.h"
#include "tests/lib/fake_gpu.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static unsigned asked;

static uint32_t own_still(const struct batch_source *delivery)
{
	(void)delivery;
	asked++;
	return TRACE_CAPTURED;
}

static const struct batch_source_ops own_ops = {.device_still = own_still};

TEST(both_are_waited_for)
{
	struct batch_source own = {&own_ops};
	struct consumer *consumer = calloc(1, sizeof(*consumer));
	const struct gpu_config config = {
		.ordinal = -1, .batch = 1, .slots = 1, .sample_bytes = 1};

	fake_gpu("");
	consumer->gpu = gpu_open(&config, NULL);
	assert_non_null(consumer->gpu);
	assert_int_equal(consumer_device_still(consumer), TRACE_AWAITED);
	assert_int_equal(asked, 0);
	consumer->alone = &own;
	assert_int_equal(consumer_device_still(consumer), TRACE_CAPTURED);
	assert_int_equal(asked, 1);
	gpu_close(consumer->gpu);
	free(consumer);
}
