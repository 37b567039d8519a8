/*
 * labels.h - labels as people write them -> 0, 1, 2 ...: all of them are numbers, and
 * stay what they are; or words, and become the rank of their bytes, so that they are the
 * same for samples in any order.
 */
#ifndef DSA_SOURCE_LABELS_H
#define DSA_SOURCE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index;
struct labels_word;

enum { LABELS_MOST = 1 << 20, LABELS_DIGITS = 12 };

struct labels {
	bool any, numbers; /* as the first one is */
	uint32_t classes;
	struct labels_word *words; /* a hash table by text */
	const char **names;        /* of words, by rank */
	uint32_t *ranks;           /* by the number that labels_add() gave */
};

/*
 * Adds a label, whose text stays there until labels_fini(). Returns a number for
 * labels_final(); or -ENOMEM, or -EINVAL and in *why what is wrong with it.
 */
int64_t labels_add(struct labels *labels, const char *text, const char **why);

/* After the last one: 0 or -ENOMEM. Then the others below may be called. */
int labels_rank(struct labels *labels);
uint32_t labels_final(const struct labels *labels, uint32_t number);
size_t labels_text(const struct labels *labels); /* bytes of the classes' names */
void labels_add_classes(const struct labels *labels, struct index *index);

void labels_fini(struct labels *labels);

#endif
