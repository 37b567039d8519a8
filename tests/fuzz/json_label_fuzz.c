/* json_label_fuzz.c - JSON beside a picture may be anything: a label, or none. */
#include "loader/source/shard/json_label.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char label[16] = "", *text = malloc(size + 1);
	int result;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	result = json_label(text, size, label, sizeof(label));
	if (result != 0 && result != -ENOENT && result != -EBADMSG &&
	    result != -EMSGSIZE)
		abort();
	if (result == 0 && memchr(label, '\0', sizeof(label)) == NULL)
		abort();
	free(text);
	return 0;
}
