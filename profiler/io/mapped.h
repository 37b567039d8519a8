/*
 * mapped.h - files of data that a process had mapped before it made batches: what it reads
 * of them is no call, but shows in what of them lies in its memory.
 */
#ifndef DSA_IO_MAPPED_H
#define DSA_IO_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

/* That file is dsa's own, and no data. NULL: there is none. */
void mapped_ignore(const char *path);

/* True where there is any but what the system and the program itself are made of. Takes a
 * millisecond in a process with a thousand mappings. */
bool mapped_any(void);

/* Bytes of them that this process has touched; takes twenty. */
uint64_t mapped_touched(void);

/* True where the kernel shares a ring with this process, of io_uring or of libaio, by which
 * it may read what no call shows. Takes a millisecond, too. */
bool mapped_rings(void);

#endif
