/* entry.c - counts references inside the word that holds the pointer. */
#include "loader/cache/entry.h"
#include "loader/base/blob.h"

#define GIVEN_SHIFT  48
#define ADDRESS_MASK ((UINT64_C(1) << GIVEN_SHIFT) - 1)

static struct blob *word_blob(uint64_t word)
{
	return (struct blob *)(uintptr_t)(word & ADDRESS_MASK);
}

static unsigned word_given(uint64_t word)
{
	return (unsigned)(word >> GIVEN_SHIFT);
}

/*
 * The caller holds a reference. Whatever happens meanwhile, a word (blob, given) that
 * is replaced by (blob, given - HALF) has to be matched by HALF more references; it
 * does not matter whether it is still the word that made us come here.
 */
static void entry_restock(struct entry *entry, struct blob *blob)
{
	uint64_t word = atomic_load(&entry->word);

	blob_ref_many(blob, ENTRY_HALF);
	while (word_blob(word) == blob && word_given(word) >= ENTRY_HALF)
		if (atomic_compare_exchange_weak(
			    &entry->word, &word,
			    word - ((uint64_t)ENTRY_HALF << GIVEN_SHIFT)))
			return;
	blob_put_many(blob, ENTRY_HALF);
}

struct blob *entry_get(struct entry *entry)
{
	uint64_t word = atomic_load_explicit(&entry->word, memory_order_relaxed);
	struct blob *blob;

	do {
		if (word == 0)
			return NULL;
	} while (!atomic_compare_exchange_weak(&entry->word, &word,
					       word + (UINT64_C(1) << GIVEN_SHIFT)));
	blob = word_blob(word);
	if (word_given(word) + 1 >= ENTRY_HALF)
		entry_restock(entry, blob);
	return blob;
}

bool entry_full(const struct entry *entry)
{
	return atomic_load_explicit(&entry->word, memory_order_relaxed) != 0;
}

bool entry_fill(struct entry *entry, struct blob *blob)
{
	uint64_t word = (uint64_t)(uintptr_t)blob;

	if (word > ADDRESS_MASK)
		return false;
	blob_ref_many(blob, ENTRY_STOCK);
	atomic_store(&entry->word, word);
	return true;
}

size_t entry_clear(struct entry *entry)
{
	uint64_t word = atomic_exchange(&entry->word, 0);
	struct blob *blob = word_blob(word);
	size_t size;

	if (word == 0)
		return 0;
	size = blob->size;
	blob_put_many(blob, ENTRY_STOCK - word_given(word));
	return size;
}
