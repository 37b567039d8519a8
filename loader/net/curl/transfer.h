/* transfer.h - one request of loader/net.h as libcurl knows it. */
#ifndef DSA_NET_TRANSFER_H
#define DSA_NET_TRANSFER_H

#include "loader/net.h"
#include "loader/net/remote.h"

#include <curl/curl.h>

enum {
	TRANSFER_PROBLEM = 2048, /* bytes that are kept of what an error says */
	TRANSFER_WORD = 64,
};

struct transfer {
	CURL *easy;
	struct net_get *get; /* NULL: free */
	struct curl_slist *headers;
	double slow_s;
	uint64_t due; /* of the next try, clock_now(); 0: under way */

	/* Of this try. */
	bool longer; /* the body has more bytes than there is room for */
	bool cut;    /* an error's body was, as it does not end */
	bool ranged; /* the server said which part of how much it gives: */
	uint64_t first, last, whole; /* bytes; UINT64_MAX: not how much */
	long status;                 /* of HTTP; 0: none came */
	CURLcode result;             /* once it has ended */
	char etag[NET_ETAG];
	char region[TRANSFER_WORD]; /* that the server says the bucket is in */
	time_t date;                /* the server's; -1: not told */
	char problem[TRANSFER_PROBLEM];
	size_t problem_size;
	size_t passed; /* bytes of an error's body that were not kept */
	char why[CURL_ERROR_SIZE];
};

/* Makes the handle. False: no memory. */
bool transfer_init(struct transfer *transfer, double slow_s);
void transfer_fini(struct transfer *transfer);

/* Sets up the handle for the next try of transfer->get. 0 or -errno and get->error. */
int transfer_prepare(struct transfer *transfer);

/* Takes out of the handle what came. */
void transfer_ended(struct transfer *transfer, CURLcode result);

#endif
