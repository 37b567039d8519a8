/*
 * thread_files.h - counts of a thread, from /proc/PID/task/TID/{stat,status,schedstat},
 * or of a process, from /proc/PID/{stat,io}. Each file is read once, on first use.
 */
#ifndef DSA_THREAD_FILES_H
#define DSA_THREAD_FILES_H

#include <stdbool.h>
#include <stdint.h>

/* Set the first three, leave the rest 0. */
struct thread_files {
	const char *root;  /* in front of /proc */
	uint32_t pid, tid; /* tid 0: the process */
	char stat[1024], status[8192], schedstat[128], io[512];
};

/* False once the kernel has removed the thread. */
bool thread_files_alive(struct thread_files *files);

/* Each since the thread began; false when the kernel does not count it. Times are
 * ns. */
bool thread_files_task_clock(struct thread_files *files, uint64_t *value);
bool thread_files_queue_wait(struct thread_files *files, uint64_t *value);
bool thread_files_minor_faults(struct thread_files *files, uint64_t *value);
bool thread_files_major_faults(struct thread_files *files, uint64_t *value);
bool thread_files_switches(struct thread_files *files, uint64_t *value);
bool thread_files_voluntary(struct thread_files *files, uint64_t *value);
bool thread_files_read_bytes(struct thread_files *files, uint64_t *value);

/* CPU time of the process's children that ended and were waited for, and of theirs. */
bool thread_files_reaped_clock(struct thread_files *files, uint64_t *value);

#endif
