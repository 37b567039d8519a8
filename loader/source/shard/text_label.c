/* text_label.c - strips a label of blanks. */
#include "loader/source/shard/text_label.h"

#include <errno.h>
#include <string.h>

int text_label(const char *text, size_t size, char *label, size_t room)
{
	static const char blanks[] = " \t\r\n";

	while (size > 0 && text[0] != '\0' && strchr(blanks, text[0]) != NULL) {
		text++;
		size--;
	}
	while (size > 0 && text[size - 1] != '\0' &&
	       strchr(blanks, text[size - 1]) != NULL)
		size--;
	if (size == 0 || memchr(text, '\0', size) != NULL)
		return -EBADMSG;
	if (size >= room)
		return -EMSGSIZE;
	memcpy(label, text, size);
	label[size] = '\0';
	return 0;
}
