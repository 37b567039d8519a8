/* text_label_fuzz.c - text beside a picture may be anything: a label that numbers or words
 * are made of, or none. */
#include "loader/source/index/labels.h"
#include "loader/source/shard/text_label.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 16, MOST = 64 };

/* Labels that were taken have a class each. */
static void check(struct labels *labels, const int64_t *numbers, unsigned count)
{
	if (labels_rank(labels) < 0)
		abort();
	for (unsigned i = 0; i < count; i++)
		if (labels_final(labels, (uint32_t)numbers[i]) >= labels->classes)
			abort();
}

/* Each line is a text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char label[MOST][ROOM];
	int64_t numbers[MOST];
	struct labels labels = {0};
	unsigned count = 0;

	while (size > 0 && count < MOST) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end != NULL ? (size_t)(end - data) : size;
		const char *why = NULL;
		int result = text_label((const char *)data, length, label[count], ROOM);

		if (result != 0 && result != -EBADMSG && result != -EMSGSIZE)
			abort();
		if (result == 0 && (label[count][0] == '\0' ||
				    memchr(label[count], '\0', ROOM) == NULL))
			abort();
		if (result == 0)
			numbers[count] = labels_add(&labels, label[count], &why);
		if (result == 0 && numbers[count] < 0 && why == NULL)
			abort();
		count += result == 0 && numbers[count] >= 0;
		data += length;
		size -= length;
		if (size > 0) {
			data++;
			size--;
		}
	}
	if (count > 0)
		check(&labels, numbers, count);
	labels_fini(&labels);
	return 0;
}
