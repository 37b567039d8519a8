/* thread_files.c - takes numbers out of the files in /proc of a thread or process. */
#include "profiler/host/thread_files.h"
#include "loader/base/host/procfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Fields of a stat file, numbered as in proc(5). */
enum {
	STAT_STATE = 3,
	STAT_MINFLT = 10,
	STAT_MAJFLT = 12,
	STAT_UTIME = 14,
	STAT_CUTIME = 16
};

/* The text of a file, read when it is asked for first. */
static const char *read_once(const struct thread_files *files, const char *name,
			     char *text, size_t size)
{
	if (text[0] == '\0' && files->tid == 0)
		procfs_read(text, size, files->root, "/proc/%u/%s", files->pid, name);
	else if (text[0] == '\0')
		procfs_read(text, size, files->root, "/proc/%u/task/%u/%s", files->pid,
			    files->tid, name);
	return text;
}

/* Field number `field` and those after it; NULL when there is none. */
static const char *stat_field(struct thread_files *files, int field)
{
	const char *text = read_once(files, "stat", files->stat, sizeof(files->stat));
	const char *at = strrchr(text, ')'); /* the name before may hold anything */

	for (int i = STAT_STATE - 1; at != NULL && i < field; i++) {
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	return at;
}

static bool stat_number(struct thread_files *files, int field, uint64_t *value)
{
	const char *text = stat_field(files, field);
	unsigned long long number;

	if (text == NULL || sscanf(text, "%19llu", &number) != 1)
		return false;
	*value = number;
	return true;
}

static bool schedstat_numbers(struct thread_files *files, uint64_t *ran,
			      uint64_t *waited)
{
	unsigned long long on_cpu, queued, slices;
	const char *text;

	if (files->tid == 0) /* the process's file is its first thread's */
		return false;
	text = read_once(files, "schedstat", files->schedstat,
			 sizeof(files->schedstat));
	/* All zero: a kernel without CONFIG_SCHED_INFO. */
	if (sscanf(text, "%19llu %19llu %19llu", &on_cpu, &queued, &slices) != 3 ||
	    slices == 0)
		return false;
	*ran = on_cpu;
	*waited = queued;
	return true;
}

static bool status_number(struct thread_files *files, const char *key, uint64_t *value)
{
	if (files->tid == 0) /* of its first thread again */
		return false;
	return procfs_value(
		read_once(files, "status", files->status, sizeof(files->status)), key,
		value);
}

/* Two fields in a row: time in user code and in the kernel, in clock ticks. */
static bool stat_times(struct thread_files *files, int field, uint64_t *value)
{
	uint64_t user, kernel;

	if (!stat_number(files, field, &user) ||
	    !stat_number(files, field + 1, &kernel))
		return false;
	*value = (user + kernel) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

bool thread_files_task_clock(struct thread_files *files, uint64_t *value)
{
	uint64_t waited;

	return schedstat_numbers(files, value, &waited) ||
	       stat_times(files, STAT_UTIME, value);
}

bool thread_files_reaped_clock(struct thread_files *files, uint64_t *value)
{
	return stat_times(files, STAT_CUTIME, value);
}

bool thread_files_minor_faults(struct thread_files *files, uint64_t *value)
{
	return stat_number(files, STAT_MINFLT, value);
}

bool thread_files_major_faults(struct thread_files *files, uint64_t *value)
{
	return stat_number(files, STAT_MAJFLT, value);
}

bool thread_files_voluntary(struct thread_files *files, uint64_t *value)
{
	return status_number(files, "voluntary_ctxt_switches:", value);
}

bool thread_files_switches(struct thread_files *files, uint64_t *value)
{
	uint64_t voluntary, forced;

	if (!thread_files_voluntary(files, &voluntary) ||
	    !status_number(files, "nonvoluntary_ctxt_switches:", &forced))
		return false;
	*value = voluntary + forced;
	return true;
}

bool thread_files_queue_wait(struct thread_files *files, uint64_t *value)
{
	uint64_t ran;

	return schedstat_numbers(files, &ran, value);
}

bool thread_files_read_bytes(struct thread_files *files, uint64_t *value)
{
	if (files->tid != 0) /* io_uring reads in threads of the kernel's own */
		return false;
	return procfs_value(read_once(files, "io", files->io, sizeof(files->io)),
			    "read_bytes:", value);
}

bool thread_files_alive(struct thread_files *files)
{
	uint64_t any;

	/* Of a thread we want the switches anyway, and its status has them. */
	return files->tid == 0 ? stat_number(files, STAT_MINFLT, &any)
			       : thread_files_voluntary(files, &any);
}
