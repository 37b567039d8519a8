/* cupti_walk.c - has the library walk a buffer, and adds what it finds in portions. */
#include "profiler/cupti/cupti_walk.h"

enum { PORTION = 64, COMMON_RECORD = 128 /* bytes, more or less, in any version */ };

struct cupti_portion {
	struct cupti_work work[PORTION];
	size_t count;
};

static void cupti_walk_lost(struct cupti_watch *watch, uint64_t records)
{
	atomic_fetch_add(&watch->spans.trace->lost_records, records);
}

static void cupti_walk_add(struct cupti_watch *watch, struct cupti_portion *portion)
{
	uint64_t lost = 0;

	pthread_mutex_lock(&watch->adding);
	for (size_t i = 0; i < portion->count; i++)
		lost += !cupti_spans_add(&watch->spans, &portion->work[i]);
	pthread_mutex_unlock(&watch->adding);
	atomic_fetch_add(&watch->spans.trace->read_records, portion->count - lost);
	portion->count = 0;
	if (lost > 0)
		cupti_walk_lost(watch, lost);
}

static void cupti_walk_record(struct cupti_watch *watch, const uint8_t *record,
			      struct cupti_portion *portion)
{
	enum cupti_reading reading =
		cupti_record_read(record, &portion->work[portion->count]);

	if (reading == CUPTI_SPOILT && !watch->ending)
		cupti_walk_lost(watch, 1);
	if (reading == CUPTI_READ && ++portion->count == PORTION)
		cupti_walk_add(watch, portion);
}

/* `last`: what was read last; NULL: nothing. As the program ends the walk stops where a
 * record is not complete. */
static void cupti_walk_rest(struct cupti_watch *watch, const uint8_t *buffer,
			    size_t valid, const uint8_t *last)
{
	size_t rest = last != NULL ? (size_t)(buffer + valid - last) : valid;

	cupti_walk_lost(watch, (rest + COMMON_RECORD - 1) / COMMON_RECORD);
}

void cupti_walk(struct cupti_watch *watch, uint8_t *buffer, size_t valid)
{
	struct cupti_portion portion = {.count = 0};
	uint8_t *record = NULL, *last = NULL;
	int result;

	while ((result = watch->api.cuptiActivityGetNextRecord(buffer, valid,
							       &record)) == 0) {
		last = record;
		cupti_walk_record(watch, record, &portion);
	}
	if (portion.count > 0)
		cupti_walk_add(watch, &portion);
	if (result != CUPTI_END && !watch->ending)
		cupti_walk_rest(watch, buffer, valid, last);
}
