/* list.h - reads the text of a list file: lines "path label". */
#ifndef DSA_SOURCE_LIST_H
#define DSA_SOURCE_LIST_H

#include "loader/source/index/index.h"

/*
 * Makes an index, without sizes and with `stamp` of the list, out of a list's text:
 * text[size] is there and is 0; the text is changed. Errors name `file` and the line.
 */
int list_parse(char *text, size_t size, const char *file,
	       const struct index_stamp *stamp, struct index *index, struct error *err);

#endif
