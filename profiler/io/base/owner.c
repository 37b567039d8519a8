/* owner.c - puts number and start of a process together. */
#include "profiler/io/base/owner.h"
#include "loader/base/host/process.h"
#include "profiler/io_page.h"

#include <unistd.h>

uint64_t owner_self(void)
{
	uint32_t pid = (uint32_t)getpid();

	return process_start(pid, NULL) << IO_PID_BITS | pid;
}

bool owner_is_gone(uint64_t owner)
{
	uint32_t pid = (uint32_t)(owner & ((UINT64_C(1) << IO_PID_BITS) - 1));

	return process_start(pid, NULL) != owner >> IO_PID_BITS;
}
