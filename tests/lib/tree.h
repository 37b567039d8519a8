/* tree.h - a temporary folder of small files: a /proc of one's own, a data set. */
#ifndef DSA_TESTS_TREE_H
#define DSA_TESTS_TREE_H

#include <stdio.h>

enum { TREE_PATH = 32 };

/* Makes it; the test fails if it can't. Remove it with tree_remove(). */
void tree_make(char root[TREE_PATH]);
void tree_remove(const char *root);

/* Opens root followed by path for writing; makes the folders on the way. */
FILE *tree_file(const char *root, const char *path);

/* The same, and writes text. */
void tree_put(const char *root, const char *path, const char *text);

#endif
