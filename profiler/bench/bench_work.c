/* bench_work.c - reads clocks and the bytes that storage brought. */
#include "profiler/bench/bench_work.h"
#include "loader/base/clock.h"
#include "profiler/host/thread_files.h"

#include <unistd.h>

void bench_work_now(struct bench_work *work)
{
	struct thread_files files = {.root = "", .pid = (uint32_t)getpid()};

	*work = (struct bench_work){0};
	thread_files_read_bytes(&files, &work->storage_bytes);
	work->seconds = (double)clock_now() / 1e9;
	work->cpu_seconds = (double)clock_process_cpu() / 1e9;
}

void bench_work_since(struct bench_work *from)
{
	struct bench_work now;

	bench_work_now(&now);
	from->seconds = now.seconds - from->seconds;
	from->cpu_seconds = now.cpu_seconds - from->cpu_seconds;
	from->storage_bytes = now.storage_bytes - from->storage_bytes;
	from->samples_per_s = (double)from->samples / from->seconds;
	from->bytes_per_s = (double)from->bytes / from->seconds;
	from->samples_per_cpu_s = (double)from->samples / from->cpu_seconds;
}
