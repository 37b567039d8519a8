/*
 * doctor.h - which parts of a measurement work on this machine, and how to fix the
 * rest.
 *
 * Every line is found by trying the thing itself, not by asking for a version.
 */
#ifndef DSA_DOCTOR_H
#define DSA_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum { DOCTOR_LINES = 32 };

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* works with a limitation: see `found` */
	DOCTOR_BROKEN,  /* dsa run can't do its work */
};

struct doctor_line {
	const char *name;
	enum doctor_status status;
	char found[192]; /* one line; file names in it are escaped */
	char fix[192];   /* what to do; "" where there is nothing to do */
};

struct doctor {
	size_t count;
	struct doctor_line lines[DOCTOR_LINES];
};

const char *doctor_status_name(enum doctor_status status);

/* True of what a server has: s3://..., http://..., https://... */
bool doctor_is_remote(const char *dataset);

/*
 * Examines this machine and, unless they are NULL, a data set (a directory, a list file,
 * or what a server has, which is asked for a few objects) and the program that a run would start (its words, ended by NULL; found as
 * a shell finds it). Does not start it, but a Python interpreter, to ask it for torch and
 * the module dsa. Changes nothing.
 */
void doctor_examine(struct doctor *doctor, const char *dataset, char *const *program);

/* True if no line is broken. */
bool doctor_fit(const struct doctor *doctor);

#endif
