/* scratch.h - a folder of a test's own, which is the current one while it runs. */
#ifndef DSA_TESTS_SCRATCH_H
#define DSA_TESTS_SCRATCH_H

#include <stddef.h>

/* Of a test in the folder, which is removed then. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* Its path. */
const char *scratch_path(void);

/* Writes a file of that many bytes, and makes the folders that it lies in. */
void scratch_file(const char *path, size_t size);

void scratch_text(const char *path, const char *text);

/* Bytes of a file. */
long scratch_size(const char *path);

#endif
