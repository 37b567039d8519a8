/*
 * s3_connection.h - the server's connections, all in one thread.
 *
 *	READS -- a head is complete --> WAITS -- its time has come --> SENDS --> READS
 *	                                  ^---- the next piece later ----'
 *
 * A line of the log for each request, its fields parted by tabs: seconds since the
 * server began, number of the connection, method, target, range or -, status (0: none
 * was sent), bytes of the body sent, key ID of the signature or -, fault or -; "gone"
 * where the client went away before the end.
 */
#ifndef DSA_TESTS_S3_CONNECTION_H
#define DSA_TESTS_S3_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

struct s3_store;
struct s3_connection;
struct throttle;

struct s3_host {
	struct s3_store *store;
	FILE *log;
	struct throttle *link; /* the bandwidth of all, or NULL */
	uint64_t piece;        /* bytes of it that one connection takes at once */
	uint64_t pause_after, die_after; /* requests; 0: never */
	double pause_s;

	uint64_t began, paused_until; /* clock_now() */
	uint64_t requests;
	unsigned connections; /* so far */
	int epoll;
	bool ended;
	TAILQ_HEAD(s3_waiting, s3_connection) waiting; /* by when they may go on */
	LIST_HEAD(s3_all, s3_connection) all;
};

/* Takes the socket. */
void s3_connection_open(struct s3_host *host, int fd);

/* Events of epoll; may close it. */
void s3_connection_event(struct s3_connection *connection, uint32_t events);

/* Goes on with those whose time has come. Returns when the next one's comes, or 0. */
uint64_t s3_host_wake(struct s3_host *host);

/* Closes all, and logs what was under way. */
void s3_host_end(struct s3_host *host);

#endif
