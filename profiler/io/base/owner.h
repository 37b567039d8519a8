/*
 * owner.h - a process as the page knows it: its number, and when it started.
 */
#ifndef DSA_OWNER_H
#define DSA_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* The calling process, as the owner of a slot. Without /proc it has no start. */
uint64_t owner_self(void);

/* True once that process has ended. */
bool owner_is_gone(uint64_t owner);

#endif
