/* remote.h - a bucket or a folder of a web server, and what is shown there to get in. */
#ifndef DSA_NET_REMOTE_H
#define DSA_NET_REMOTE_H

#include <stdbool.h>

/* Strings are the remote's own; NULL: there is none. */
struct net_remote {
	char *base; /* the URL that encoded paths are appended to; ends with "/" */
	char *list; /* the URL that a listing's query is appended to */
	char *region;
	char *id, *secret, *token; /* NULL: anonymous */
	char *ca_bundle;           /* a file of certificates */
	char *credentials;         /* where these are from, for people */
	double deadline_s;
	bool bucket; /* it speaks S3's words; else a web server's */
};

/* Frees it, after it has wiped the secrets. */
void remote_free(struct net_remote *remote);

#endif
