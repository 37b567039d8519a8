/* json_label.h - the label in the JSON that stands beside a picture. */
#ifndef DSA_JSON_LABEL_H
#define DSA_JSON_LABEL_H

#include <stddef.h>

/*
 * Writes into label (`room` bytes) the text of a number or string: the whole value, or
 * of an object its member "label", else "cls", else "class". Returns 0; -ENOENT if it
 * has none; -EBADMSG if it is no JSON; -EMSGSIZE if the label does not fit.
 */
int json_label(const char *text, size_t size, char *label, size_t room);

#endif
