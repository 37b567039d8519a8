/* uring_ring.h - sets up an io_uring with fixed files. Private to loader/fetch/. */
#ifndef DSA_FETCH_RING_H
#define DSA_FETCH_RING_H

#include <liburing.h>

struct error;

/*
 * Makes a ring of `entries` submissions and `files` empty fixed files, which does
 * nothing until ring_enable(). Ends with io_uring_queue_exit(). Returns 0 or -errno,
 * and err says what to do about it.
 */
int ring_init(struct io_uring *ring, unsigned entries, unsigned files,
	      struct error *err);

/* The ring belongs to the calling thread from here on. */
void ring_enable(const struct io_uring *ring);

#endif
