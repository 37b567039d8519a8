/*
 * status.h - the status of a shared loader: JSON (dsa-serve(1)) and OpenMetrics.
 *
 * Whoever serves fills in plain figures; both texts are written from one table of them.
 * The texts do not depend on the locale.
 */
#ifndef DSA_SHARE_STATUS_H
#define DSA_SHARE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#define SHARE_UNKNOWN UINT64_MAX /* of a number: it is left out */

enum share_job_state {
	SHARE_JOB_WAITING, /* for other jobs, or for the next round: it has no slot yet */
	SHARE_JOB_READING,
	SHARE_JOB_BEHIND,  /* others wait for it */
	SHARE_JOB_DROPPED, /* loads alone from where it was */
	SHARE_JOB_LEFT,    /* what it had */
};

/* One consumer. Counts since it came; _ns are nanoseconds. */
struct share_job_figures {
	const char *job;    /* name that it gave; any bytes */
	const char *device; /* from where its batches are copied to its device; NULL: it
			     * has none */
	enum share_job_state state;
	uint64_t pid, slot;
	uint64_t batch;           /* samples a batch that it asked for */
	uint64_t epoch, position; /* its own: epochs done; samples of this one */
	uint64_t lag_samples, lag_batches; /* published and not yet taken by it */
	uint64_t held_samples;             /* taken and not yet given back */
	uint64_t waits, waited_ns;         /* times that it found nothing to take */
	uint64_t batches, samples, bytes;  /* given back */
	uint64_t age_ns;
};

struct share_figures {
	const char *mode;   /* "free" */
	const char *socket; /* path */
	const char *device; /* where the samples have a mirror; NULL: nowhere */
	const char *const *datasets; /* NULL terminated */
	uint64_t pid, generation;
	uint64_t uptime_ns;
	uint64_t dataset_samples, dataset_bytes;
	uint64_t memory_bytes;  /* shared; all in all */
	uint64_t sample_bytes;  /* of a prepared one */
	uint64_t window;        /* samples that the shared memory holds */
	uint64_t drop_after_ns; /* SHARE_UNKNOWN: never */
	uint64_t workers;
	uint64_t lap, parts;        /* of the shared epoch */
	uint64_t samples;           /* published */
	uint64_t samples_per_1000s; /* of late */
	uint64_t skipped;           /* could not be read or decoded */
	uint64_t hits, misses;      /* of the cache of encoded samples */
	uint64_t fetched_bytes;     /* read by the fetch engine */
	uint64_t device_bytes;      /* copied to the mirror */
	uint64_t prep_cpu_ns;       /* of the threads that prepare */
	uint64_t full_ns;           /* all jobs' time that no place was free */
	uint64_t came, left, dropped, refused; /* jobs so far */
	const struct share_job_figures *jobs;
	size_t job_count;
};

/* The whole as JSON, a line at its end. malloc, the caller's; 0 or -ENOMEM. */
int share_status_json(const struct share_figures *figures, char **text);

/* The same as OpenMetrics text 1.0. */
int share_status_metrics(const struct share_figures *figures, char **text);

/*
 * The HTTP/1.0 answer to a request, head and body: GET /metrics is OpenMetrics, GET
 * /status JSON, anything else 404. malloc, the caller's; 0 or -ENOMEM.
 */
int share_status_http(const struct share_figures *figures, const char *request,
		      char **answer, size_t *bytes);

#endif
