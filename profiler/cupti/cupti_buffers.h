/* cupti_buffers.h - the memory that CUPTI fills with records: zeroed, and used
 * again. */
#ifndef DSA_CUPTI_BUFFERS_H
#define DSA_CUPTI_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

/* Room for the records of a second or so: what CUPTI has not handed over yet is lost
 * when the process is killed. */
enum { CUPTI_BUFFER = 512 << 10 };

/* Any thread. NULL: there is no memory. */
uint8_t *cupti_buffers_take(void);

/* `used` bytes of it were written. */
void cupti_buffers_give(uint8_t *buffer, size_t used);

#endif
