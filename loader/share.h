/*
 * share.h - one loader for many jobs: the server's side.
 *
 *	source -> cache -> fetch -> prep -> ring (shared memory) -> jobs
 *
 * A share_server holds a loader whose batches go to any number of consumers: programs
 * that call dsa_open() with DSA_SHARE naming its socket. It lives in one thread
 * (share_server_run()) beside the pipeline's own. It prints nothing: `log` receives its
 * messages, one line each.
 */
#ifndef DSA_SHARE_H
#define DSA_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dsa_config;
struct error;
struct share_server;

enum { SHARE_WINDOW = 8 }; /* default, in batches */

enum share_mode {
	SHARE_LOCKSTEP, /* jobs begin together and at an epoch's start */
	SHARE_FREE,     /* jobs come, go and pause within the window */
	SHARE_JOADER,   /* jobs on data sets that overlap: dependent sampling */
};

enum { SHARE_DATASETS = 16 }; /* at the most */

struct share_config {
	const struct dsa_config *loader; /* its dataset: the first one */
	const char *settings;            /* as DSA_LOADER; NULL: none */
	const char *const *datasets;     /* joader: NULL terminated; else NULL */
	const char *socket;              /* path; made 0600 */
	enum share_mode mode;
	unsigned window; /* batches kept for those that are behind [SHARE_WINDOW] */
	unsigned jobs;   /* wait for so many before the first batch [1] */
	uint64_t
		drop_ns; /* a job that blocks others for so long is dropped; 0: never */
	bool takeover;   /* wait for the clients of a server that died */
	double takeover_s; /* how long consumers may take to come back [10] */
	const char *audit; /* file for the audit; NULL: none */
	bool decoded; /* deliver decoded images: each client does the rest of prep */
	bool follow;  /* make samples as the first job wants them, and batches at least
			 as large, where `settings` say nothing. Else as `loader` does */
	bool leave;   /* end when the last job left */
	const char *device; /* copy the samples there, once for all of its jobs: "cuda",
			     * "cuda:1"; NULL: nowhere */
	void (*log)(void *context, const char *line);
	void *context;
};

/* Opens the loader and the socket. NULL and one line in err. */
struct share_server *share_server_open(const struct share_config *config,
				       struct error *err);

/*
 * Serves until share_server_stop(), the end of the data, or a failure (err). 0 or
 * -errno. Consumers that are there then get the end of the data, or the failure.
 */
int share_server_run(struct share_server *server, struct error *err);

/* From any thread or a signal handler. */
void share_server_stop(struct share_server *server);
void share_server_close(struct share_server *server);

/* Its state as JSON, as share_status() has it (malloc; the caller's). Not while another
 * thread is in share_server_run(). 0 or -errno. */
int share_server_status(struct share_server *server, char **json, struct error *err);

/* Where a server listens when nobody says: $XDG_RUNTIME_DIR/dsa.sock, or
 * /tmp/dsa-UID/dsa.sock (a folder 0700). 0 or -errno. */
int share_socket_path(char *path, size_t bytes, struct error *err);

/* Asks a server for its state as JSON (malloc; the caller's). 0 or -errno. */
int share_status(const char *socket, char **json, struct error *err);

/* The same in two steps, for who may not want to wait up to 10 s for the answer:
 * shutdown(2) of the connection ends the second one. A descriptor, the caller's to
 * close, or -errno; 0 or -errno. */
int share_connect(const char *socket, struct error *err);
int share_ask(int connection, char **json);

#endif
