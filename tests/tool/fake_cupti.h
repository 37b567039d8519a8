/*
 * fake_cupti.h - what tests ask of the fake CUPTI, beyond its calls.
 *
 * fake_cupti.c is built as libcupti.so.13, .12 and .11.8, each in a folder of its own
 * below build/.../fake/cupti/, with what that version has: its lengths of records, and
 * before 13 no cuptiSubscribe_v2. In `lacking` one that is needed is missing. Tests put
 * the folder on LD_LIBRARY_PATH.
 *
 * Where the fake driver is in the process (tests/tool/cuda/fake_cuda.h) its devices' work is
 * recorded; else what fake_cupti_record() is told.
 *
 * FAKE_CUPTI is words with commas between:
 *
 *	held		another tool has subscribed, "Fake Nsight"
 *	off		recording can't be enabled (15, not initialised)
 *	unfit		the same, of version 13 alone
 *	drops		each buffer comes with 3 records that were dropped
 *	unknown		the 10th record of each buffer is of a kind that nobody knows
 *	incomplete	every 10th record has no times
 *	hangs		the flush as the program ends never does
 *
 * FAKE_CUPTI_LOG names a file to which it adds a line for a call that breaks the rules:
 * in another process than the one that subscribed, or from the callback of records.
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdint.h>

struct fake_cupti_record {
	uint32_t kind; /* as CUPTI counts: 1 copy, 2 memset, 10 kernel, 51 graph */
	uint32_t device;
	uint8_t copy_kind;         /* of a copy: 1 in, 2 out */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	const char *name;          /* of a kernel; it stays where it is */
};

/* Adds a record, as a device would when the work has ended; any thread. By dlsym(). */
void fake_cupti_record(const struct fake_cupti_record *record);

#endif
