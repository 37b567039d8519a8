/* inherited.h - whether memory is mapped here: what a forked child inherited. */
#ifndef DSA_TESTS_INHERITED_H
#define DSA_TESTS_INHERITED_H

#include <stdbool.h>

/* Of the page that holds the byte. */
bool inherited(const void *byte);

#endif
