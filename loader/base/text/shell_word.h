/* shell_word.h - words as a shell reads them, for commands that a person may copy. */
#ifndef DSA_SHELL_WORD_H
#define DSA_SHELL_WORD_H

#include <stdio.h>

struct error;

/* Writes the word, in single quotes where a shell would take it apart. */
void shell_word(FILE *to, const char *word);

/* The words of a command line, behind `first`, which is written as it is; NULL: there is none.
 * To be freed; NULL: no memory. */
char *shell_words(const char *first, char *const *words);

/*
 * Takes text apart into words as a shell does: blanks part them, quotes and backslashes
 * keep characters as they are. Nothing is expanded or run: what would have a meaning to
 * a shell outside of quotes is refused (-EINVAL), and so is text without a word. One
 * free() frees the words, which NULL ends, and their list. NULL on failure.
 */
char **shell_split(const char *text, struct error *err);

#endif
