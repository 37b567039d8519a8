/* shell_quote.h - a command line as a shell reads it. */
#ifndef DSA_SHELL_QUOTE_H
#define DSA_SHELL_QUOTE_H

/* The words, all but the first quoted where they need it. To be freed; NULL: no memory. */
char *shell_quote_words(char *const *words);

#endif
