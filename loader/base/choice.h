/* choice.h - a choice of words, written "a|b|c" as in the help of an option. */
#ifndef DSA_CHOICE_H
#define DSA_CHOICE_H

#include <stddef.h>

enum { CHOICE_TEXT = 256 }; /* bytes that suffice for the lists of variants.h */

/* The place of the word among the choices, from 0; -1: it is none of them. */
int choice_find(const char *choices, const char *word);

/* Writes "a, b or c" into text, where `last` is " or ". Returns text. */
const char *choice_list(const char *choices, const char *last, char text[CHOICE_TEXT]);

#endif
