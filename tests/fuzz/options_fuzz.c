/* options_fuzz.c - DSA_LOADER, which anyone may set. */
#include "loader/base/error.h"
#include "loader/options.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dsa_config config = {.dataset = "images"};
	static struct options options;
	char *text = strndup((const char *)data, size);
	struct error err = {0};

	if (text == NULL)
		return 0;
	if (options_resolve(&options, &config, text, &err) < 0) {
		require(err.message[0] != '\0');
	} else {
		require(options.batch >= 1 && options.batch <= 65536);
		require(options.workers >= 1 && options.workers <= 128);
		require(options.prefetch >= 1 && options.prefetch <= 64);
		require(options.fetch_depth >= 1 && options.fetch_depth <= 256);
		require(options.rank < options.world);
		require(options.cache_share >= 0 && options.cache_share <= 1);
		require(options.prep_delay >= 0 && options.storage_latency >= 0);
		require(options.gpu_speed >= .001 && options.gpu_speed <= 1000);
		require(options.dataset[0] != '\0');
	}
	free(text);
	return 0;
}
