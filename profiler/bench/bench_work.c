#include "profiler/bench/bench_work.h"
#include "loader/base/clock.h"
#include "profiler/host/thread_files.h"

#include <unistd.h>

void stage_work_now(struct stage_work *work)
{
	struct thread_files files = {.root = "", .pid = (uint32_t)getpid()};

	*work = (struct stage_work){0};
	thread_files_read_bytes(&files, &work->storage_bytes);
	work->seconds = (double)clock_now() / 1e9;
	work->cpu_seconds = (double)clock_process_cpu() / 1e9;
}

void stage_work_since(struct stage_work *from)
{
	struct stage_work now;

	stage_work_now(&now);
	from->seconds = now.seconds - from->seconds;
	from->cpu_seconds = now.cpu_seconds - from->cpu_seconds;
	from->storage_bytes = now.storage_bytes - from->storage_bytes;
	from->samples_per_s = (double)from->samples / from->seconds;
	from->bytes_per_s = (double)from->bytes / from->seconds;
	from->samples_per_cpu_s = (double)from->samples / from->cpu_seconds;
}
