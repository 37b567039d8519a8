#include "cmd/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_word(FILE *to, const char *word)
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

char *quote_words(char *const *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	fputs(words[0], to); /* "dsa run" */
	for (words++; *words != NULL; words++) {
		putc(' ', to);
		put_word(to, *words);
	}
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
