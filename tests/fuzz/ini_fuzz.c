/* ini_fuzz.c - a settings file. */
#include "loader/base/error.h"
#include "loader/base/text/ini.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct ini ini = {.at = text};
	const char *name, *value;
	struct error err = {0};
	int result;

	if (text == NULL)
		return 0;
	while ((result = ini_next(&ini, &name, &value, &err)) > 0)
		if (name[0] == '\0' || strchr(name, '\n') != NULL ||
		    strchr(value, '\n') != NULL)
			abort();
	if (result < 0 && err.message[0] == '\0')
		abort();
	free(text);
	return 0;
}
