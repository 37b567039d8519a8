/* quote.h - a command line as a shell reads it. */
#ifndef DSA_QUOTE_H
#define DSA_QUOTE_H

/* The words, all but the first quoted where they need it. To be freed; NULL: no memory. */
char *quote_words(char *const *words);

#endif
