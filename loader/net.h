/*
 * net.h - objects in buckets and on web servers: where they are, and requests for them.
 *
 *	net_start() -> [sent, sent again after a while] -> get->done(), inside net_wait()
 *
 * Requests are made by libdsa-net.so, which net_open() opens: it lies beside libdsa or
 * the program, or in the folder dsa of the folder of libraries. One thread uses a net;
 * several nets live side by side.
 *
 * What fails and may succeed a little later is sent again until the deadline: 5xx, 429,
 * connections that are refused, reset or too slow, bodies that end early. Before each
 * time it rests for a random while from 0 to a limit that doubles (Brooker, Exponential
 * Backoff and Jitter, 2015: full jitter). Results are
 *
 *	-ENOENT		the object is not there
 *	-EACCES		it may not be read
 *	-ESTALE		it is not the one that was listed: another ETag or size
 *	-EKEYREJECTED	whoever asks is refused: credentials, clock, region
 *	-ETIMEDOUT	the deadline passed
 *	-EBADMSG	the answer makes no sense
 *	-ECANCELED	net_close() came first
 *
 * each with one line in get->error that tells no secret.
 */
#ifndef DSA_NET_H
#define DSA_NET_H

#include "loader/base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net;
struct net_remote;
struct net_page;

enum { NET_ETAG = 128, NET_KEY = 1025 }; /* bytes with the 0 */

struct net_get {
	const struct net_remote *remote;
	const char *path;    /* below the remote, as it is: net_start() encodes it */
	const char *query;   /* encoded and sorted; NULL: none */
	const char *etag;    /* that it must have, with its quotes; NULL or "": any */
	unsigned char *body; /* where the body goes, valid until done() */
	size_t room;         /* a longer body is not what was listed */
	uint64_t from;       /* of a part: where its `room` bytes begin */
	bool part;
	bool exact; /* the body has `room` bytes; a shorter one is as a longer one */
	bool first; /* of a server that never answered: it is given up early */
	bool head;  /* no body: its length and ETag are all that is wanted */
	uint64_t deadline; /* clock_now() */
	void (*done)(struct net_get *get, int result);
	void *context;           /* of whoever waits for it */
	const atomic_bool *stop; /* of net_call(); may be NULL */

	/* What came of it. */
	size_t got;
	uint64_t length; /* of all of it, as the server told; UINT64_MAX: it did not */
	char found_etag[NET_ETAG];
	uint64_t date_s;  /* the server's clock, seconds since 1970; 0: not told */
	unsigned retries; /* requests after the first one */
	struct error error;

	void *transfer; /* libdsa-net.so's */
};

struct net_config {
	unsigned most; /* requests at once */
	uint64_t seed; /* of the rests between tries */
	double rest_s; /* longest rest before the second try; 0: 0.1 s */
	double slow_s; /* an answer that brings less than 1 kB/s so long is given up;
			* 0: 10 s */
};

/* -ENOENT, and a line that names the package, where libdsa-net.so can't be opened. */
struct net *net_open(const struct net_config *config, struct error *err);

/* Ends what is under way: done() with -ECANCELED. */
void net_close(struct net *net);

/* Sends a request, of which at most `most` are under way. The get stays the caller's. */
void net_start(struct net *net, struct net_get *get);

/* Gives up a request that is under way, whose done() is not called. */
void net_cancel(struct net *net, const struct net_get *get);

/* Waits for events, at most so long, and calls done() of what has ended, which may
 * start others. */
void net_wait(struct net *net, uint64_t most_ns);

/* Ends the net_wait() under way, or the next one. Any thread. */
void net_wake(struct net *net);

/* One request, until it ends or get->stop is set; done and context are set by it.
 * Returns the result, -ECANCELED if it was stopped. */
int net_call(struct net *net, struct net_get *get, struct error *err);

/*
 * Reads a page of ListObjectsV2. Keys are as they are, not encoded; strings are valid
 * inside the call of `object` alone. A document type with entities is refused.
 */
struct net_page {
	void *context;
	/* Returns 0, or what net_read_page() is to return. */
	int (*object)(void *context, const char *key, size_t key_length, uint64_t size,
		      const char *etag);
	bool truncated;
	char token[2048]; /* of the next page */
};

int net_read_page(struct net *net, const char *text, size_t size, struct net_page *page,
		  struct error *err);

/* ---- where objects are ---- */

/*
 * A bucket, as the environment and the files of AWS's tools say: see net/s3_settings.h.
 * Anonymous without credentials.
 */
struct net_remote *net_remote_bucket(const char *bucket, struct error *err);

/* A web server, with the folder of a URL, "https://host/a/list.txt": paths are relative
 * to ".../a/". Errors tell nothing of what stands before an @ or after a question mark. */
struct net_remote *net_remote_web(const char *url, struct error *err);

void net_remote_close(struct net_remote *remote);

/*
 * Seconds that a request for its objects may take, with all its tries: 60 until it is set
 * otherwise (0 leaves it); and when one that begins now must have succeeded, clock_now().
 */
void net_remote_set_deadline(struct net_remote *remote, double seconds);
double net_remote_deadline_s(const struct net_remote *remote);
uint64_t net_remote_deadline(const struct net_remote *remote);

/* What is asked: "https://host/bucket/"; whose credentials are shown, by name:
 * "AWS_ACCESS_KEY_ID", "the profile 'x'", "none: anonymous"; the region. */
const char *net_remote_url(const struct net_remote *remote);
const char *net_remote_credentials(const struct net_remote *remote);
const char *net_remote_region(const struct net_remote *remote);

/* ---- percent-encoding, as signatures want it ---- */

/*
 * Appends text, with all but letters, digits and -._~ (and '/' with keep_slash) as %XX,
 * to a string of `size` bytes that holds `used`. Returns the new length, which is `size`
 * or more where it did not fit; to[size - 1] is 0 then.
 */
size_t net_url_encode(char *to, size_t size, size_t used, const char *text,
		      int keep_slash);

/* True where a part of the URL's path is "." or "..", which those who follow RFC 3986 take
 * out. */
bool net_url_has_dots(const char *url);

/* Decodes %XX, and + as a blank with `plus`, in place. Returns the length; what is no %XX
 * stays. */
size_t net_url_decode(char *text, bool plus);

#endif
