/* batch.h - the batch that this process makes: what its calls add to it. */
#ifndef DSA_IO_BATCH_H
#define DSA_IO_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Adds a file that was opened, or a part of it that was read, to its digest. */
void batch_digest(uint64_t file, uint64_t from, uint64_t bytes);

/* IO_MAPPED and its like. */
void batch_flag(uint32_t flag);

/* True in the thread that began it. */
bool batch_is_own(void);

/* Its key. */
uint64_t batch_key(void);

/* In the child of a fork. */
void batch_child(void);

#endif
