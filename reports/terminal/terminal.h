/* terminal.h - the verdict box: what a person wants to know first, in 80 columns. */
#ifndef DSA_TERMINAL_H
#define DSA_TERMINAL_H

#include "reports/common/form_style.h"

/*
 * How to write to out: colours when it is a terminal that has them and NO_COLOR is not
 * set, ASCII unless LC_ALL, LC_CTYPE or LANG ask for UTF-8.
 */
struct form_style terminal_style(FILE *out);

form_write terminal_write;

#endif
