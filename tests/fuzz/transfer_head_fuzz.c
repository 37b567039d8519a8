/* transfer_head_fuzz.c - whatever lines an answer's head has, what is kept of them is one line
 * of text. */
#include "loader/net/curl/transfer.h"
#include "loader/net/curl/transfer_head.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	if (length == room)
		abort();
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)text[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct transfer transfer = {.date = -1};

	for (size_t at = 0, end; at < size; at = end) {
		const uint8_t *found = memchr(data + at, '\n', size - at);
		size_t length;
		char *line;

		end = found != NULL ? (size_t)(found - data) + 1 : size;
		length = end - at;
		line = malloc(length); /* of which nothing behind its end may be read */
		if (line == NULL)
			return 0;
		memcpy(line, data + at, length);
		if (transfer_head(line, 1, length, &transfer) != length)
			abort();
		free(line);
	}
	check(transfer.etag, sizeof(transfer.etag));
	check(transfer.region, sizeof(transfer.region));
	return 0;
}
