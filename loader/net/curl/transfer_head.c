/* transfer_head.c - reads what an answer says of itself before its body. */
#include "loader/net/curl/transfer_head.h"
#include "loader/base/number.h"
#include "loader/net/curl/transfer.h"

#include <ctype.h>
#include <string.h>

/* The value of a header, without the blanks around it, if it is this one. One with control
 * characters is none: it may be sent back. */
static bool transfer_is_header(const char *line, size_t size, const char *name,
			       char *value, size_t room)
{
	size_t length = strlen(name);

	if (size < length || strncasecmp(line, name, length) != 0)
		return false;
	line += length;
	size -= length;
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	while (size > 0 && strchr(" \t\r\n", line[size - 1]) != NULL)
		size--;
	for (size_t i = 0; i < size; i++)
		if (iscntrl((unsigned char)line[i]))
			return false;
	if (size >= room)
		return false;
	memcpy(value, line, size);
	value[size] = '\0';
	return true;
}

/* "bytes 2-5/10", "bytes 2-5/...". */
static bool transfer_range(struct transfer *transfer, const char *text)
{
	char whole[TRANSFER_WORD];
	unsigned long long first, last;

	if (sscanf(text, "bytes %llu-%llu/%63s", &first, &last, whole) != 3)
		return false;
	transfer->first = first;
	transfer->last = last;
	if (!number_whole(whole, UINT64_MAX - 1, &transfer->whole))
		transfer->whole = UINT64_MAX;
	return true;
}

size_t transfer_head(char *line, size_t one, size_t size, void *context)
{
	struct transfer *transfer = context;
	char date[TRANSFER_WORD], range[TRANSFER_WORD];

	(void)one;
	if (size > 5 &&
	    strncmp(line, "HTTP/", 5) == 0) { /* after a redirect, another */
		transfer->etag[0] = transfer->region[0] = '\0';
		transfer->ranged = false;
	}
	if (transfer_is_header(line, size, "content-range:", range, sizeof(range)))
		transfer->ranged = transfer_range(transfer, range);
	transfer_is_header(line, size, "etag:", transfer->etag, sizeof(transfer->etag));
	transfer_is_header(line, size, "x-amz-bucket-region:", transfer->region,
			   sizeof(transfer->region));
	if (transfer_is_header(line, size, "date:", date, sizeof(date)))
		transfer->date = curl_getdate(date, NULL);
	return size;
}
