/* shell_quote.c - words of a command as a shell reads them. */
#include "cmd/common/shell_quote.h"
#include "loader/base/io.h"
#include "loader/base/text/shell_word.h"

#include <stdio.h>

char *shell_quote_words(char *const *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	fputs(words[0], to); /* "dsa run" */
	for (words++; *words != NULL; words++) {
		putc(' ', to);
		shell_word(to, *words);
	}
	return io_text(to, &text);
}
