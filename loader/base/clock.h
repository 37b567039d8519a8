/* clock.h - time. Everything that is measured or waited for uses this one clock. */
#ifndef DSA_CLOCK_H
#define DSA_CLOCK_H

#include <pthread.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t clock_now(void);

/* Seconds since `then`, a past clock_now(); 0 if it lies ahead. */
static inline double clock_since(uint64_t then)
{
	uint64_t now = clock_now();

	return now > then ? (double)(now - then) * 1e-9 : 0;
}

/* CLOCK_REALTIME, as files have it, in nanoseconds: to compare with these alone. */
uint64_t clock_real(void);

/* CPU time of the calling thread, in nanoseconds. */
uint64_t clock_thread_cpu(void);

/* The same of a thread that was not joined yet; 0 when it is unknown. */
uint64_t clock_cpu_of(pthread_t thread);

/* CPU time of the calling process, all its threads, user and system, in nanoseconds. */
uint64_t clock_process_cpu(void);

/* The time of day in UTC, as "2026-11-22T04:12:57Z". */
enum { CLOCK_UTC = sizeof("2026-11-22T04:12:57Z") };
void clock_utc(char text[CLOCK_UTC]);

/* Sleeps until clock_now() reaches `deadline`; returns at once if it has passed. */
void clock_sleep_until(uint64_t deadline);

#endif
