/*
 * baseline_fuzz.c - a baseline may hold anything: it is refused in one line, or writing,
 * reading and writing it again changes nothing.
 */
#include "loader/base/error.h"
#include "reports/gate/baseline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_text(const struct gate_side *side, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (baseline_write(side, out, NULL) < 0)
		abort();
	fclose(out);
	return text;
}

static void write_again(const struct gate_side *side)
{
	size_t size = 0, again_size = 0;
	char *text = write_text(side, &size), *again_text;
	struct gate_side again;

	if (baseline_read(text, size, &again, NULL) < 0)
		abort();
	again_text = write_text(&again, &again_size);
	if (size != again_size || memcmp(text, again_text, size) != 0)
		abort();
	free(text);
	free(again_text);
	gate_side_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct gate_side side;

	if (baseline_read((const char *)data, size, &side, &err) < 0) {
		if (err.message[0] == '\0' || strchr(err.message, '\n') != NULL)
			abort();
		return 0;
	}
	write_again(&side);
	gate_side_free(&side);
	return 0;
}
