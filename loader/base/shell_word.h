/* shell_word.h - words as a shell reads them, for commands that a person may copy. */
#ifndef DSA_SHELL_WORD_H
#define DSA_SHELL_WORD_H

#include <stdio.h>

/* Writes the word, in single quotes where a shell would take it apart. */
void shell_word(FILE *to, const char *word);

#endif
