/* verdict_fuzz.c - whatever a server answers is done, is tried again, or is one line. */
#include "loader/net/curl/net_verdict.h"
#include "loader/net/curl/transfer.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a header may hold: see transfer_is_header(). */
static void text(char *to, size_t room, const uint8_t *data, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < size && used + 1 < room; i++)
		if (!iscntrl(data[i]) && data[i] != '\0')
			to[used++] = (char)data[i];
	to[used] = '\0';
}

/* Two bytes of the status, one of flags, one of libcurl's result; then the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char region[] = "us-east-1", who[] = "none: anonymous";
	struct net_remote remote = {.region = region,
				    .credentials = who,
				    .bucket = size > 2 && (data[2] & 1)};
	struct net_get get = {.remote = &remote, .room = 4, .exact = true};
	struct transfer transfer = {.get = &get, .date = 1, .last = 3};
	size_t kept;
	bool again;
	int result;

	if (size < 4)
		return 0;
	transfer.status = data[0] * 4 + (data[1] & 3);
	get.part = data[2] & 2;
	get.got = data[2] & 4 ? 4 : 3;
	transfer.cut = data[2] & 8;
	transfer.ranged = data[2] & 16;
	transfer.longer = data[2] & 32;
	transfer.result = data[3] % CURL_LAST;
	kept = size - 4 < sizeof(transfer.problem) - 1 ? size - 4
						       : sizeof(transfer.problem) - 1;
	memcpy(transfer.problem, data + 4, kept);
	text(transfer.region, sizeof(transfer.region), data + 4, kept);
	text(transfer.why, sizeof(transfer.why), data + 4, kept);
	result = verdict_of(&transfer, &again);
	if (result > 0 || (again && result == 0) ||
	    (result < 0) != (get.error.message[0] != '\0'))
		abort();
	for (const char *at = get.error.message; *at != '\0'; at++)
		if (iscntrl((unsigned char)*at))
			abort();
	return 0;
}
