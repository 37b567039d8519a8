/*
 * net_exit.h - keeps threads out of libcurl while the process ends.
 *
 * A program may end while a loader is still at work. The TLS library then frees its locks
 * in a handler of exit(3), and a thread that takes one ends the program with SIGSEGV. Every
 * call into libcurl that may take one lies between net_enter() and net_leave(). A handler
 * of our own, which runs before the TLS library's, waits for the threads that are inside
 * and lets no more in. Any thread; calls may nest.
 */
#ifndef DSA_NET_EXIT_H
#define DSA_NET_EXIT_H

#include <stdbool.h>

/* Call it after curl_global_init(): handlers of exit(3) run in reverse order. */
void net_watch_exit(void);

/* False: the process ends; call libcurl no more, and net_leave() neither. */
bool net_enter(void);
void net_leave(void);

#endif
