/*
 * csv.h - the windows as a table: a line each, named columns (the keys of a window in
 * run.json), RFC 4180. Unknown is empty.
 */
#ifndef DSA_CSV_H
#define DSA_CSV_H

#include "reports/common/form_style.h"

form_write csv_write;

#endif
