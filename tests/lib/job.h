/*
 * job.h - a job at a shared loader, made of protocol and ring alone: it counts what it
 * gets, so that a test can say whether each epoch had every sample exactly once. Fails no
 * test by itself: it may be in any thread or process.
 */
#ifndef DSA_TESTS_JOB_H
#define DSA_TESTS_JOB_H

#include "loader/share/ring/bcast_ring.h"
#include "loader/share/wire/id_map.h"
#include "loader/share/wire/protocol.h"

#include <stdbool.h>

struct job {
	int socket;
	int memory; /* of its loader; -1: none */
	struct protocol_inbox inbox;
	struct protocol_hello hello;
	struct protocol_welcome welcome;
	char why[PROTOCOL_WHY]; /* it was refused, or something failed */
	struct bcast_reader *reader;
	struct id_map id_map; /* of its data set; none: they are the ring's */
	uint32_t *seen;       /* of each sample, in this epoch */
	uint64_t in_epoch;    /* samples */
	unsigned epochs;      /* ended */
	unsigned wrong;       /* epochs in which not every sample came exactly once */
	unsigned unreadable;  /* samples that no epoch has */
	bool waits;           /* was told to wait */
};

/* Fills hello for a data set of a loader with these options. */
void job_init(struct job *job, uint32_t batch);

/* Connects. 0 or -errno. */
int job_connect(struct job *job, const char *path);

/* Says HELLO and waits for the answer. Its type, or -errno. job_hello() does not wait. */
int job_join(struct job *job, const char *path);
int job_hello(struct job *job);
int job_answer(struct job *job);

/* Takes a batch, counts and gives it back. What bcast_take() says. */
int job_step(struct job *job, uint64_t timeout_ns);

/* Takes one and keeps it. */
int job_take(struct job *job, uint64_t timeout_ns, struct bcast_batch *batch);
void job_release(struct job *job, const struct bcast_batch *batch);

/* Until so many epochs ended. 0 or -errno. */
int job_run(struct job *job, unsigned epochs);

/* It was dropped: counts what its epoch lacks as had. How many. */
unsigned job_rest(struct job *job);

/* Is the job before at another loader, where it goes past what that one had. */
void job_resume(struct job *job, struct job *before);

/* Closes the connection and all else. */
void job_leave(struct job *job);

#endif
