/*
 * cupti_buffer.h - CUPTI's buffers of records, as its versions write them.
 */
#ifndef DSA_TESTS_CUPTI_BUFFER_H
#define DSA_TESTS_CUPTI_BUFFER_H

#include "tests/tool/fake_cupti.h"

#include <stddef.h>

enum cupti_version { CUPTI_11_8, CUPTI_12_4, CUPTI_13_0, CUPTI_VERSIONS };

/* A kernel of NCCL's, by the name that CUPTI has for it. */
#define CUPTI_COLLECTIVE                                                               \
	"_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"

/* Bytes of a record; 0: the version knows no such kind. */
size_t cupti_buffer_length(enum cupti_version version, uint32_t kind);

/* Writes a record into zeroed memory; returns its length. */
size_t cupti_buffer_write(enum cupti_version version, uint8_t *at,
			  const struct fake_cupti_record *record);

/* cuptiActivityGetNextRecord() of the version. */
int cupti_buffer_next(enum cupti_version version, uint8_t *buffer, size_t valid,
		      uint8_t **record);

#endif
