/*
 * gate_form.h - the forms in which a gate reports its verdict.
 *
 *	text       a terminal, 80 columns: the cause, the table, what this gate can see
 *	json       "dsa.gate/1", sorted keys
 *	junit      a test case a metric; for GitLab, Jenkins and GitHub
 *	markdown   a comment on a change: at most 64 KiB
 *	summary    GitHub's step summary: the same, below 1 MiB
 *	github     GitHub's workflow commands: at most 10 annotations, the worst first
 *
 * JUnit: a regression is a <failure>. What has no answer (inconclusive, missing,
 * another machine or data set) is an <error>, so that it looks like no pass; a metric
 * that only informs is <skipped>; what improved passes, and <system-out> says so. The
 * verdict of the whole is a test case too, the first.
 *
 * Forms that have a limit say what they left out. A form is one file, its declaration
 * in gate_part.h and one line in gate_form.c's table. Names and texts may come from
 * anybody: each form escapes them.
 */
#ifndef DSA_GATE_FORM_H
#define DSA_GATE_FORM_H

#include "models/gate/gate.h"
#include "reports/common/form_style.h"

enum {
	GATE_MARKDOWN_MOST = 64 << 10, /* bytes of a comment on GitHub */
	GATE_SUMMARY_MOST = 1 << 20,   /* of a step summary */
	GATE_ANNOTATIONS = 10,         /* of a step, of each kind */
	GATE_JUNIT_MOST = 30 << 20,    /* of a report on GitLab */
};

/* A verdict and what a form prints with it. NULL where there is nothing. */
struct gate_report {
	const struct gate_verdict *verdict;
	const char *name;    /* of the gate: the baseline's file, or the command */
	const char *command; /* a dsa command line that does it again */
	const char *link;    /* path of a folder or file with more */
	double seconds;      /* that it took; NAN: unknown */
	const char *when;    /* ISO 8601, UTC */
	size_t before; /* bytes of the file that this is appended to: they count in its
			* limit. gate_form_save() looks itself */
};

/* Writes one of these forms. 0 or -errno; -EINVAL: there is none of that name. */
int gate_form_write(const char *name, const struct gate_report *report,
		    const struct form_style *style, FILE *out, struct error *err);

/* Writes the form to a file, whole or not at all; "-" is standard output. `append`:
 * after what the file has (GITHUB_STEP_SUMMARY). 0 or -errno. */
int gate_form_save(const char *name, const struct gate_report *report, const char *path,
		   bool append, struct error *err);

#endif
