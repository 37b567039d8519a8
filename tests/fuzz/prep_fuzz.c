/* Whatever bytes come: no crash, no fault, bounded memory; an error has one line. */
#include "loader/base/error.h"
#include "loader/prep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void prepare(const struct prep *prep, const uint8_t *data, size_t size)
{
	struct prep_worker *worker = prep_worker_new(prep);
	unsigned char *out = malloc(prep_sample_bytes(prep));
	struct error err = {0};
	int result;

	if (worker == NULL || out == NULL)
		abort();
	result = prep_run(worker, data, size, size, out, &err);
	if (err.code != -result || strchr(err.message, '\n') != NULL)
		abort();
	free(out);
	prep_worker_free(worker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prep_config config = prep_defaults;

	config.size = 20;
	config.resize = 24;
	for (int evaluate = 0; evaluate < 2; evaluate++) {
		struct prep *prep;

		config.evaluate = evaluate != 0;
		config.type = evaluate != 0 ? PREP_U8 : PREP_F32;
		prep = prep_open(&config, NULL);
		prepare(prep, data, size);
		prep_close(prep);
	}
	return 0;
}
