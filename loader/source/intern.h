/* intern.h - a set of strings, numbered as they come. */
#ifndef DSA_SOURCE_INTERN_H
#define DSA_SOURCE_INTERN_H

#include <stdint.h>

struct intern {
	const char **strings; /* by number; the caller's, which must stay */
	uint32_t count;
	uint32_t *table; /* 1 + number by hash, open addressing; 0: free */
	uint32_t room;   /* of table, a power of two; half of it for strings */
};

#define INTERN_FULL UINT32_MAX

/* The number of a string, a new one if need be; INTERN_FULL when memory is short. */
uint32_t intern_add(struct intern *intern, const char *string);

void intern_fini(struct intern *intern); /* {0} is an empty set */

#endif
