/* cupti_record.h - what a record of CUPTI's says that a device did, and when. */
#ifndef DSA_CUPTI_RECORD_H
#define DSA_CUPTI_RECORD_H

#include "profiler/cupti/cupti_api.h"

enum { CUPTI_DEVICES = 16 }; /* of a process, at the most */

struct cupti_work {
	uint64_t start_ns, end_ns;
	uint16_t device; /* below CUPTI_DEVICES */
	uint16_t work;   /* enum trace_work */
};

enum cupti_reading { CUPTI_READ, CUPTI_OTHER, CUPTI_SPOILT };

/*
 * The record is whole, of whatever kind. OTHER: of no kind that is looked at. SPOILT:
 * its times say nothing, as it was not complete, or the device had no memory left to
 * time it.
 */
enum cupti_reading cupti_record_read(const uint8_t *record, struct cupti_work *work);

#endif
