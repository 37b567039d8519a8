/* shell_word_fuzz.c - a command line that somebody typed; its words survive writing. */
#include "loader/base/text/shell_word.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *join(char *const *words)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);

	if (to == NULL)
		abort();
	for (; *words != NULL; words++) {
		shell_word(to, *words);
		putc(' ', to);
	}
	fclose(to);
	return text;
}

static void compare(char *const *a, char *const *b)
{
	size_t i = 0;

	for (; a[i] != NULL; i++)
		if (b[i] == NULL || strcmp(a[i], b[i]) != 0)
			abort();
	if (b[i] != NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *again, **words, **read;

	if (text == NULL)
		return 0;
	words = shell_split(text, NULL);
	if (words != NULL) {
		again = join(words);
		read = shell_split(again, NULL);
		if (read == NULL)
			abort();
		compare(words, read);
		free(read);
		free(again);
	}
	free(words);
	free(text);
	return 0;
}
