#include "loader/base/shell_word.h"

#include <string.h>

void shell_word(FILE *to, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_@%+=:,./-";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, to);
		return;
	}
	putc('\'', to);
	for (; *word != '\0'; word++)
		if (*word == '\'')
			fputs("'\\''", to);
		else
			putc(*word, to);
	putc('\'', to);
}
