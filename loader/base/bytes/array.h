/* array.h - arrays that grow while they are filled. */
#ifndef DSA_ARRAY_H
#define DSA_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `wanted` elements of `size` bytes in an array that has *room: where that
 * is too little, it moves, and has twice as much at least. The caller frees it. NULL: no
 * memory, and the array stays as it is.
 */
void *array_grow(void *array, size_t *room, size_t wanted, size_t size);

#endif
