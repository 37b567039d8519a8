/* share_metrics.h - what the server does, in figures. Private to loader/share/. */
#ifndef DSA_SHARE_METRICS_H
#define DSA_SHARE_METRICS_H

#include "loader/share/server/client.h"
#include "loader/share/wire/status.h"

enum { PAST_JOBS = 32 /* that are shown though they left */ };

struct past_job {
	struct share_job_figures figures;
	char name[CLIENT_NAME];
};

struct share_metrics {
	struct past_job past[PAST_JOBS]; /* a ring: next is past_count % PAST_JOBS */
	uint64_t past_count;
	char *last;       /* status, once the stream is closed; NULL: no memory */
	bool starves;     /* a job waits and there is no room */
	uint64_t full_ns; /* for so long, all in all */
	uint64_t rated_ns, rated, rate; /* published then; samples per 1000 s since */
};

/* Keeps the figures of a client with a slot that leaves, with the pipeline's lock held.
 * Returns them: the server's, until PAST_JOBS more clients have left. */
const struct share_job_figures *share_metrics_keep(struct share_server *server,
						   const struct client *client);
int share_metrics_json(struct share_server *server, char **text);
int share_metrics_http(struct share_server *server, const char *request, char **answer,
		       size_t *bytes);

#endif
