/* labels.c - numbers the words that are labels. */
#include "loader/source/index/labels.h"
#include "loader/base/number.h"
#include "loader/source/index/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define HASH_NONFATAL_OOM                1
#define uthash_nonfatal_oom(word)        (full = true)
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned)XXH3_64bits(key, length))
#include <uthash.h>

/* A label that is no number. The hash table says when it is out of memory. */
struct labels_word {
	const char *text;
	uint32_t number; /* as they come */
	UT_hash_handle hh;
};

/* The number of a word, a new one if need be; -ENOMEM. */
static int64_t labels_word_number(struct labels *labels, const char *text)
{
	struct labels_word *word;
	bool full = false;

	HASH_FIND_STR(labels->words, text, word);
	if (word != NULL)
		return word->number;
	word = malloc(sizeof(*word));
	if (word == NULL)
		return -ENOMEM;
	*word = (struct labels_word){.text = text, .number = HASH_COUNT(labels->words)};
	HASH_ADD_KEYPTR(hh, labels->words, text, strlen(text), word);
	if (!full)
		return word->number;
	free(word);
	return -ENOMEM;
}

int64_t labels_add(struct labels *labels, const char *text, const char **why)
{
	uint64_t value = 0;
	bool number = number_whole(text, UINT64_MAX, &value);
	int64_t word = number ? 0 : labels_word_number(labels, text);

	if (!labels->any)
		labels->numbers = number;
	labels->any = true;
	if (word < 0)
		return word;
	if (number != labels->numbers) {
		*why = number ? "a number among labels that are words"
			      : "a word among labels that are numbers";
		return -EINVAL;
	}
	if (!number)
		value = (uint64_t)word;
	if (value >= LABELS_MOST) {
		*why = number ? "a label above 1048575"
			      : "more than 1048576 different labels";
		return -EINVAL;
	}
	if (value >= labels->classes)
		labels->classes = (uint32_t)value + 1;
	return (int64_t)value;
}

static int labels_compare(const struct labels_word *a, const struct labels_word *b)
{
	return strcmp(a->text, b->text);
}

int labels_rank(struct labels *labels)
{
	uint32_t next = 0;

	if (labels->numbers || labels->classes == 0)
		return 0;
	labels->ranks = malloc(labels->classes * sizeof(*labels->ranks));
	labels->names = malloc(labels->classes * sizeof(*labels->names));
	if (labels->ranks == NULL || labels->names == NULL)
		return -ENOMEM;
	HASH_SORT(labels->words, labels_compare);
	for (struct labels_word *word = labels->words; word != NULL;
	     word = word->hh.next) {
		labels->names[next] = word->text;
		labels->ranks[word->number] = next++;
	}
	return 0;
}

uint32_t labels_final(const struct labels *labels, uint32_t number)
{
	return labels->numbers ? number : labels->ranks[number];
}

static const char *labels_name(const struct labels *labels, uint32_t label,
			       char buffer[LABELS_DIGITS])
{
	if (!labels->numbers)
		return labels->names[label];
	snprintf(buffer, LABELS_DIGITS, "%u", label);
	return buffer;
}

size_t labels_text(const struct labels *labels)
{
	char buffer[LABELS_DIGITS];
	size_t bytes = 0;

	for (uint32_t i = 0; i < labels->classes; i++)
		bytes += strlen(labels_name(labels, i, buffer)) + 1;
	return bytes;
}

void labels_add_classes(const struct labels *labels, struct index *index)
{
	char buffer[LABELS_DIGITS];

	for (uint32_t i = 0; i < labels->classes; i++)
		index_add_class(index, labels_name(labels, i, buffer));
}

void labels_fini(struct labels *labels)
{
	struct labels_word *word = labels->words, *next;

	HASH_CLEAR(hh, labels->words);
	for (; word != NULL; word = next) {
		next = word->hh.next;
		free(word);
	}
	free(labels->names);
	free(labels->ranks);
}
