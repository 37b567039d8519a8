/*
 * s3_fault.h - what goes wrong on purpose, and how long an answer takes.
 *
 * All is drawn from the seed, the key, and how often it was asked for: the nth request
 * for an object meets the same fault in every run, whatever else is under way.
 */
#ifndef DSA_TESTS_S3_FAULT_H
#define DSA_TESTS_S3_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#define S3_FAULTS(X)                                                                   \
	X(SLOWDOWN, "slowdown")   /* 503 */                                            \
	X(TOOMANY, "toomany")     /* 429 */                                            \
	X(INTERNAL, "internal")   /* 500 */                                            \
	X(FORBIDDEN, "forbidden") /* 403 */                                            \
	X(REDIRECT, "redirect")   /* 307, to --redirect */                             \
	X(MOVED, "moved")         /* 301, and nothing says where to */                 \
	X(BULKY, "bulky")         /* 503, with a body of 2 MiB */                      \
	X(WHOLE, "whole")         /* 200 with all of it, though a part was wanted */   \
	X(SHIFT, "shift")         /* another part of the same length */                \
	X(UNTOLD, "untold")       /* HEAD does not tell the length */                  \
	X(RESET, "reset")         /* the connection, before the answer or in it */     \
	X(TRUNCATE, "truncate")   /* the body ends early, and the connection */        \
	X(TRICKLE, "trickle")     /* of the body a byte a second */                    \
	X(LATE, "late")           /* by --late */                                      \
	X(ARCHIVED, "archived")   /* 403, to be restored first */

enum s3_fault {
	S3_NO_FAULT,
#define S3_FAULT_NAME(name, text) S3_FAULT_##name,
	S3_FAULTS(S3_FAULT_NAME)
#undef S3_FAULT_NAME
		S3_FAULT_KINDS
};

struct s3_faults {
	uint64_t seed;
	double share[S3_FAULT_KINDS]; /* of requests */
	const char *only;             /* keys that begin so */
	unsigned times;               /* the first requests for a key alone; 0: all */
	double latency_s, jitter_s;   /* the least, and the mean of what comes on top */
	double late_s;                /* that comes on top of LATE ones */
	double rate;                  /* requests/s; more are TOOMANY; 0: no limit */
	double spent; /* of the rate: requests at `since`, at most one s */
	uint64_t since;
};

/* What one request meets. */
struct s3_drawn {
	enum s3_fault fault;
	double where; /* in [0, 1) of the body */
	double wait_s;
};

/* "-" of S3_NO_FAULT. */
const char *s3_fault_name(enum s3_fault fault);

/* "reset:1%,slowdown:0.5%". False: it is none of this. */
bool s3_faults_parse(const char *text, struct s3_faults *faults);

/* The request number `tries`, from 0, for a key. */
struct s3_drawn s3_fault_draw(struct s3_faults *faults, const char *key,
			      unsigned tries);

#endif
