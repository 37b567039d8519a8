/*
 * session_fuzz.c - a session file that somebody else wrote.
 *
 * The input is a row of patches over an empty session: 4 bytes of offset, one of
 * length, then the bytes.
 */
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/analysis/analyse.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies (or with clear takes back) every patch of the input. */
static void patch(char *session, const uint8_t *data, size_t size, bool clear)
{
	while (size > 5) {
		uint32_t offset, length = data[4];

		memcpy(&offset, data, sizeof(offset));
		offset %= sizeof(struct trace);
		data += 5;
		size -= 5;
		if (length > size)
			length = (uint32_t)size;
		if (length > sizeof(struct trace) - offset)
			length = (uint32_t)(sizeof(struct trace) - offset);
		if (clear)
			memset(session + offset, 0, length);
		else
			memcpy(session + offset, data, length);
		data += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace *session;
	struct profile profile;
	struct error err = {0};

	if (session == NULL)
		session = calloc(1, sizeof(*session));
	if (session == NULL)
		return 0;
	patch((char *)session, data, size, false);
	profile_init(&profile);
	analyse((const struct trace *const[]){session}, 1, &profile, &err);
	profile_free(&profile);
	patch((char *)session, data, size, true);
	return 0;
}
