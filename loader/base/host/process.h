/*
 * process.h - who a process is. Takes no memory, lock or stream, so that it may be
 * asked inside any program.
 */
#ifndef DSA_PROCESS_H
#define DSA_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* When it started, in clock ticks since boot: numbers are used again. 0: there is no
 * such process, it has ended, or there is no /proc. *bytes, unless NULL: what one system
 * call read for that; 0: none did. */
uint64_t process_start(uint32_t pid, size_t *bytes);

/* The inode of the pid namespace that the caller is in; 0: unknown. */
uint32_t process_namespace(void);

#endif
