/*
 * audit.h - who got what: each epoch of each job must have every sample exactly once.
 * Private to loader/share/.
 *
 * What is published is noted, and counted for a job once the job gave it back. The file
 * has a line for each epoch of a job and, at the end, a verdict (dsa-serve(1)).
 */
#ifndef DSA_SHARE_AUDIT_H
#define DSA_SHARE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

struct audit;
struct audit_job;
struct error;
struct bcast_ring;
struct bcast_reader_state;

/* Makes the file, or empties it. samples: of all data sets. */
struct audit *audit_open(const char *path, uint32_t samples, struct error *err);

/* Writes the verdict, brings the file to storage and closes it. 0 or -errno. NULL is
 * allowed. */
int audit_close(struct audit *audit, struct error *err);

/* Places from `first` on were published. */
void audit_note(struct audit *audit, const struct bcast_ring *ring, uint64_t first);

struct audit_config {
	const char *name;
	uint32_t slot;
	uint64_t start;       /* its first place */
	uint64_t remaining;   /* places of its first epoch, */
	uint64_t voids;       /* of them so many before its first sample */
	uint32_t samples;     /* of its data set */
	const uint64_t *sets; /* of each sample: the data sets it is in; NULL: all */
	unsigned set;         /* its own */
};

/* NULL: no memory; the verdict will say that something is not known. */
struct audit_job *audit_join(struct audit *audit, const struct audit_config *config);

/* The job gave back what its slot says, or left with it. */
void audit_released(struct audit *audit, struct audit_job *job,
		    const struct bcast_reader_state *slot);
/* It gets no more. Frees it; NULL is allowed. */
void audit_leave(struct audit *audit, struct audit_job *job);

/* Forgets places that nobody will ask about: before `tail`, and given back by all. */
void audit_forget(struct audit *audit, uint64_t tail);

#endif
