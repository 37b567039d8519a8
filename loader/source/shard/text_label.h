/* text_label.h - the label in the text that stands beside a picture. */
#ifndef DSA_TEXT_LABEL_H
#define DSA_TEXT_LABEL_H

#include <stddef.h>

/*
 * Writes the text without the blanks around it into label (`room` bytes). Returns 0;
 * -EBADMSG if there is none, or a 0 byte is in it; -EMSGSIZE if it does not fit.
 */
int text_label(const char *text, size_t size, char *label, size_t room);

#endif
