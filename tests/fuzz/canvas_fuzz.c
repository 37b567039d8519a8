/* Whatever lies in shared memory for a canvas: no crash, no fault, bounded memory. */
#include "loader/base/error.h"
#include "loader/prep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void prepare(const struct prep_config *config, const uint8_t *data, size_t size)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	unsigned char *out = malloc(prep_sample_bytes(prep));

	if (worker == NULL || out == NULL)
		abort();
	for (uint64_t seed = 0; seed < 4; seed++) { /* one worker: memory is kept */
		struct error err = {0};
		int result = prep_run(worker, data, size, seed, out, &err);
		if (err.code != -result || strchr(err.message, '\n') != NULL)
			abort();
	}
	free(out);
	prep_worker_free(worker);
	prep_close(prep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prep_config config = prep_defaults;

	config.op = "canvas";
	config.size = 20;
	config.resize = 24;
	prepare(&config, data, size);
	config.evaluate = true;
	config.type = PREP_U8;
	config.layout = PREP_NHWC;
	prepare(&config, data, size);
	return 0;
}
