/* clock.c - reads the clocks of the kernel. */
#include "loader/base/clock.h"

#include <errno.h>
#include <time.h>

#define SECOND 1000000000ull

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_real(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_cpu_of(pthread_t thread)
{
	clockid_t id;

	return pthread_getcpuclockid(thread, &id) == 0 ? read_clock(id) : 0;
}

uint64_t clock_process_cpu(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void clock_sleep_until(uint64_t deadline)
{
	struct timespec at = {
		.tv_sec = (time_t)(deadline / SECOND),
		.tv_nsec = (long)(deadline % SECOND),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}
