/* check.h - the checks of the doctor: each tries one thing and fills one line. */
#ifndef DSA_DOCTOR_CHECK_H
#define DSA_DOCTOR_CHECK_H

#include "profiler/doctor/doctor.h"

/* What is examined. Names that were not given are NULL. */
struct check_subject {
	const char *dataset;
	char *const *program; /* its words */
	char sample[4096];    /* a regular file of the data set; "" if none was found */
};

typedef void check_machine(struct doctor_line *line);
typedef void check_named(struct doctor_line *line, const struct check_subject *subject);

/* of this machine, in host.c */
check_machine check_kernel, check_clock, check_memory_file, check_huge_pages,
	check_locked_memory, check_shared_memory, check_io_uring, check_counters,
	check_accounting, check_gnuplot, check_cores, check_memory, check_others;

/* of a data set, in filesystem.c */
check_named check_dataset, check_direct, check_residency;

/* of a program, in program.c */
check_named check_program;

/* Whether the kernel and the dynamic loader find what the program at path needs to be
 * started, in start.c. False: the line says what is missing. */
bool check_start(struct doctor_line *line, const char *path, const char *name);

/* The interpreter that a script's first line names, "" if none. False: it is no
 * script. */
bool check_find_interpreter(const char *path, char *interpreter, size_t room);

enum { CHECK_PATIENCE_S = 20 };

/* Runs a helper that has no effects; its words are ended by NULL. line: the first one
 * that it prints with `wanted` in it, or "". Its exit status; -1: it did not run, or did
 * not end in so many seconds and was killed. */
int check_ask(const char *const words[], double seconds, const char *wanted, char *line,
	      size_t room);

/* Finds the first regular file of subject->dataset, a few folders deep. */
void check_find_sample(struct check_subject *subject);

/* Where a shell would find a program; false if nowhere. path holds size bytes. */
bool check_find_program(const char *name, char *path, size_t size);

/* Fills a line. A line that is OK has no fix; fix may be NULL. */
void check_report(struct doctor_line *line, enum doctor_status status, const char *fix,
		  const char *found, ...) __attribute__((format(printf, 4, 5)));

#endif
