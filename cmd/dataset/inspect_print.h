/* inspect_print.h - the forms of what a data set holds. */
#ifndef DSA_INSPECT_PRINT_H
#define DSA_INSPECT_PRINT_H

struct inspect;

void dataset_inspect_print_json(const char *dataset, const struct inspect *result);
void dataset_inspect_print_text(const char *dataset, const struct inspect *result);

#endif
