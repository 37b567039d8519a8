/* emulated_storage.c - reads storage_bandwidth, storage_latency and prep_delay. */
#include "profiler/preload/emulated_storage.h"
#include "loader/base/number.h"
#include "profiler/io_page.h"

#include <stdio.h>
#include <string.h>

static void emulated_storage_set(struct io_page *page, const char *key,
				 const char *value)
{
	uint64_t bytes;

	if (strcmp(key, "storage_bandwidth") == 0 && number_rate(value, &bytes))
		page->storage_bandwidth = (double)bytes;
	else if (strcmp(key, "storage_latency") == 0)
		number_time(value, &page->storage_latency);
	else if (strcmp(key, "prep_delay") == 0)
		number_time(value, &page->prep_delay);
}

void emulated_storage_read(const char *text, struct io_page *page)
{
	char word[64]; /* longer ones are paths */

	for (; text != NULL && *text != '\0'; text += *text == ',') {
		size_t length = strcspn(text, ",");
		char *value;

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		value = strchr(word, '=');
		if (length < sizeof(word) && value != NULL) {
			*value = '\0';
			emulated_storage_set(page, word, value + 1);
		}
		text += length;
	}
}
