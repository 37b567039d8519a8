/*
 * server_state.h - the parts of a server, each with its owner. Private to
 * loader/share/.
 *
 *	server.c       opens the parts, waits for events, ends
 *	recipe.c       what samples become, and who says so
 *	reactor.h      what its thread waits for
 *	listener.h     the socket
 *	client.h       the connections: client.c, join.c, requests.c
 *	share_stream.h scheduler, pipeline and ring: all that a lock guards
 *	share_metrics.h, policy.c  the status; periodic checks
 *	datasets.h, profiled.h     what is served; taking part in a dsa run
 *
 * All of it belongs to the thread in share_server_run(), but for what share_stream.h
 * says to be guarded by the pipeline's lock.
 */
#ifndef DSA_SHARE_SERVER_STATE_H
#define DSA_SHARE_SERVER_STATE_H

#include "loader/base/error.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/session_join.h"
#include "loader/share.h"
#include "loader/share/server/audit.h"
#include "loader/share/server/client.h"
#include "loader/share/server/datasets.h"
#include "loader/share/server/listener.h"
#include "loader/share/server/profiled.h"
#include "loader/share/server/reactor.h"
#include "loader/share/server/share_metrics.h"
#include "loader/share/server/share_stream.h"

struct share_server {
	struct share_config config;
	struct options options;
	struct components parts;
	struct enlisted session;
	struct gpu *gpu; /* where the samples have a mirror; NULL: nowhere */
	struct datasets datasets;
	char output[PREP_OUTPUT];
	uint64_t generation;
	uint64_t opened_ns;

	struct reactor reactor;
	struct listener listener;
	struct clients clients;
	struct share_stream stream;
	struct share_metrics metrics;
	struct profiled profiled;

	bool resumed;            /* a job of the loader before is there */
	uint64_t await_until_ns; /* for the jobs of the loader before; 0: it does not */
	bool released;           /* there is room again: wake the pipeline */
	bool done;
	int result;
	struct error failure;
	uint64_t watched_ns;  /* the last tick */
	uint64_t progress_ns; /* when a job gave something back */
};

/* ---- server.c ---- */

__attribute__((format(printf, 2, 3))) void server_log(const struct share_server *server,
						      const char *format, ...);

/* ---- recipe.c ---- */

/* Fills in and checks config and options. 0 or -errno. */
int recipe_resolve(struct share_server *server, struct error *err);

/* Before the stream is open: takes on what a job wants, as far as the settings let it,
 * in place of what another wanted. 0 or -errno. */
int recipe_follow(struct share_server *server, const struct protocol_hello *hello,
		  struct error *err);

/* Opens the stream for that job. 0 or -errno: it is as before. */
int recipe_open(struct share_server *server, struct error *err);

/* ---- policy.c ---- */

void policy_tick(struct share_server *server, uint64_t now);
uint64_t policy_interval(const struct share_server *server); /* ns; 0: no tick */
void policy_log(struct share_server *server, uint64_t now);  /* what is due */
void policy_audit(struct share_server *server);
void policy_end(struct share_server *server, uint64_t now); /* has the data ended? */

#endif
