/* check.h - the checks of the doctor: each tries one thing and fills one line. */
#ifndef DSA_DOCTOR_CHECK_H
#define DSA_DOCTOR_CHECK_H

#include "profiler/doctor/doctor.h"
#include "profiler/host/gpu_facts.h"
#include "profiler/preload.h"

#include <stdint.h>

enum { CHECK_WORD = 64, CHECK_LINE = 192, CHECK_OBJECTS = 64 };

/* What a server said that has the data set. */
struct check_objects {
	uint32_t samples;     /* 0: it could not be opened, */
	char why[CHECK_LINE]; /* or of the first object that could not be read */
	char url[CHECK_LINE], region[CHECK_WORD], credentials[CHECK_LINE];
	double age_s; /* of the listing */
	unsigned answered, failed, retries;
	double took_s[CHECK_OBJECTS]; /* of those answered, in rising order */
	double bytes_per_s;
	double skew_s; /* this clock less the server's; NAN: it did not tell */
};

/* What is examined. Names that were not given are NULL. */
struct check_subject {
	const char *dataset;
	char *const *program; /* its words */
	char sample[4096];    /* a regular file of the data set; "" if none was found */
	bool remote;          /* a server has it: */
	struct check_objects objects;

	/* Of a program in Python: what that Python says; "": nothing. */
	bool is_python;
	struct preload_python python;
	char version[CHECK_WORD], torch[CHECK_WORD];
	char missing[CHECK_WORD]; /* of torch's iterator; "": all is there */
	char recipe[CHECK_LINE];  /* what libdsa has of its script's transforms */
};

/* A line that is left empty is none. */
typedef void check_machine(struct doctor_line *line);
typedef void check_named(struct doctor_line *line, const struct check_subject *subject);

/* of this machine, in host.c */
check_machine check_kernel, check_clock, check_memory_file, check_huge_pages,
	check_locked_memory, check_shared_memory, check_io_uring, check_counters,
	check_accounting, check_gnuplot, check_cores, check_memory, check_others;

/* of its GPUs, in nvidia.c; the last two are empty where none can be watched */
check_machine check_gpu, check_gpu_cupti, check_gpu_injection;

/* What check_gpu() says of such a driver. */
struct check_driver {
	struct gpu_facts gpus;
	bool loaded;  /* by the kernel; */
	bool library; /* there is a libcuda.so.1, */
	int cuda;     /* and its version of CUDA, 13000 is 13.0; 0: it does not say */
	bool hidden; /* /dev has it, but nothing of it is in /proc, as in a container */
};
void check_gpu_driver(struct doctor_line *line, const struct check_driver *driver);

/* Whether a libcupti is of no later CUDA than the driver, by its name. */
bool check_cupti_fits(const char *path, int cuda);

/* of a data set, in filesystem.c; the last two are empty where no file is */
check_named check_dataset, check_direct, check_residency;

/* of its samples, in sample_checks.c */
check_named check_samples;

/* of one that a server has, in object_checks.c */
check_named check_remote, check_endpoint, check_credentials, check_server_clock,
	check_requests;

/* of a program, in program.c; and, of one that may bring its own loader, in python.c */
check_named check_program, check_preload, check_python, check_torch, check_recipe,
	check_ranks;

/* Whether the kernel and the dynamic loader find what the program at path needs to be
 * started, in start.c. False: the line says what is missing. */
bool check_start(struct doctor_line *line, const char *path, const char *name);

enum { CHECK_PATIENCE_S = 20 };

/* Runs a helper that has no effects; its words are ended by NULL. line: the first one
 * that it prints with `wanted` in it, or "". Its exit status; -1: it did not run, or did
 * not end in so many seconds and was killed. */
int check_ask(const char *const words[], double seconds, const char *wanted, char *line,
	      size_t room);

/* Finds the first regular file of subject->dataset, a few folders deep. */
void check_find_sample(struct check_subject *subject);

/* Opens subject->dataset, and asks for some of its objects. */
void check_ask_objects(struct check_subject *subject);

/* Fills what is known of subject->program's Python, by asking it. */
void check_ask_python(struct check_subject *subject);

/* True where its script loads data by libdsa. */
bool check_uses_dsa(const struct check_subject *subject);

/* Fills a line. A line that is OK has no fix; fix may be NULL. */
void check_report(struct doctor_line *line, enum doctor_status status, const char *fix,
		  const char *found, ...) __attribute__((format(printf, 4, 5)));

#endif
