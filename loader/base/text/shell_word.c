/* shell_word.c - quotes and splits words. */
#include "loader/base/text/shell_word.h"
#include "loader/base/error.h"
#include "loader/base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS   " \t\n"
#define MEANINGS "|&;<>()$`*?[#~!" /* to a shell, where no quotes are */

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

char *shell_words(const char *first, char *const *words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	if (first != NULL)
		fputs(first, to);
	for (char *const *word = words; *word != NULL; word++) {
		if (first != NULL || word != words)
			putc(' ', to);
		shell_word(to, *word);
	}
	return io_text(to, &text);
}

/* ---- splitting ---- */

struct splitter {
	const char *at; /* in the text */
	char *to;       /* where the word under way goes on */
};

static int shell_word_refuse(struct error *err, char c)
{
	return error_set(
		err, EINVAL,
		"'%c' means something to a shell, and none is asked here: quote "
		"it, or run sh -c '...'",
		c);
}

/* Up to the closing quote; in double ones a backslash keeps what is special there. */
static int take_quoted(struct splitter *splitter, char quote, struct error *err)
{
	for (; *splitter->at != quote; splitter->at++) {
		if (*splitter->at == '\0')
			return error_set(err, EINVAL, "a %c is not closed", quote);
		if (quote == '"' && strchr("$`", *splitter->at) != NULL)
			return shell_word_refuse(err, *splitter->at);
		if (quote == '"' && *splitter->at == '\\' && splitter->at[1] != '\0' &&
		    strchr("$`\"\\", splitter->at[1]) != NULL)
			splitter->at++;
		*splitter->to++ = *splitter->at;
	}
	splitter->at++;
	return 0;
}

static int take_escaped(struct splitter *splitter, struct error *err)
{
	if (*splitter->at == '\0')
		return error_set(err, EINVAL, "nothing follows the last \\");
	*splitter->to++ = *splitter->at++;
	return 0;
}

static int take_word(struct splitter *splitter, struct error *err)
{
	int result = 0;

	while (result == 0 && *splitter->at != '\0' &&
	       strchr(BLANKS, *splitter->at) == NULL) {
		char c = *splitter->at++;

		if (c == '\'' || c == '"')
			result = take_quoted(splitter, c, err);
		else if (c == '\\')
			result = take_escaped(splitter, err);
		else if (strchr(MEANINGS, c) != NULL)
			result = shell_word_refuse(err, c);
		else
			*splitter->to++ = c;
	}
	*splitter->to++ = '\0';
	return result;
}

char **shell_split(const char *text, struct error *err)
{
	/* Each word has a blank or the end behind it, so n bytes hold n / 2 + 1. */
	size_t length = strlen(text), most = length / 2 + 2, count = 0;
	char **words = malloc(most * sizeof(*words) + length + 1);
	struct splitter splitter = {.at = text};

	if (words == NULL)
		return error_null(error_sys(err, ENOMEM, "reading a command"));
	splitter.to = (char *)(words + most);
	while (*(splitter.at += strspn(splitter.at, BLANKS)) != '\0') {
		words[count++] = splitter.to;
		if (take_word(&splitter, err) < 0) {
			free(words);
			return NULL;
		}
	}
	words[count] = NULL;
	if (count > 0)
		return words;
	free(words);
	error_set(err, EINVAL, "it is empty");
	return NULL;
}
