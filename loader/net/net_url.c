/* net_url.c - encodes and decodes by RFC 3986. */
#include "loader/net.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int url_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

size_t net_url_encode(char *to, size_t size, size_t used, const char *text,
		      int keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text != '\0' && used < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (url_plain(c) || (c == '/' && keep_slash)) {
			to[used++] = (char)c;
			continue;
		}
		if (size - used <= 3)
			used = size;
		if (used == size)
			break;
		to[used++] = '%';
		to[used++] = digits[c >> 4];
		to[used++] = digits[c & 15];
	}
	to[used < size ? used : size - 1] = '\0';
	return used;
}

bool net_url_has_dots(const char *url)
{
	const char *end = url + strcspn(url, "?");

	for (; (url = strstr(url, "/.")) != NULL && url < end; url++) {
		size_t dots = strspn(url + 1, ".");

		if (dots <= 2 && strchr("/?", url[1 + dots]) != NULL)
			return true;
	}
	return false;
}

size_t net_url_decode(char *text, bool plus)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		if (from[0] == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			const char digits[3] = {from[1], from[2], '\0'};

			*to++ = (char)strtoul(digits, NULL, 16);
			from += 2;
		} else {
			*to++ = plus && *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}
