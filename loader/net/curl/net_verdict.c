/* net_verdict.c - reads statuses of HTTP, S3's error codes and libcurl's. */
#include "loader/net/curl/net_verdict.h"
#include "loader/base/clock.h"
#include "loader/base/name.h"
#include "loader/net/curl/transfer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	OTHER_PARTS = 3,    /* tries after an answer with one that was not asked for */
	EARLY_NS = 3000000, /* that libcurl ends a try before the deadline, at most */
};

struct verdict {
	const struct transfer *transfer;
	const struct net_remote *remote;
	struct error *err;
	char code[TRANSFER_WORD]; /* S3's; "": none */
	bool *again;
};

/* The text of an element of an error's XML: letters and digits, else it is left empty. */
static void verdict_element(const char *xml, const char *begin, char *text, size_t size)
{
	const char *at = strstr(xml, begin);
	size_t length = 0;

	text[0] = '\0';
	if (at == NULL)
		return;
	at += strlen(begin);
	while (isalnum((unsigned char)at[length]) || at[length] == '-')
		length++;
	if (at[length] != '<' || length >= size)
		return;
	memcpy(text, at, length);
	text[length] = '\0';
}

static int verdict_again(const struct verdict *verdict, int code, const char *what)
{
	*verdict->again = true;
	return error_set(verdict->err, code, "%s", what);
}

static int verdict_skewed(const struct verdict *verdict)
{
	long off = verdict->transfer->date > 0
			   ? (long)(time(NULL) - verdict->transfer->date)
			   : 0;

	if (off == 0)
		return error_set(verdict->err, EKEYREJECTED,
				 "this machine's clock is off, by what the server says "
				 "(RequestTimeTooSkewed): set it");
	return error_set(verdict->err, EKEYREJECTED,
			 "this machine's clock is %ld min %s the server's "
			 "(RequestTimeTooSkewed): set it",
			 (labs(off) + 30) / 60, off > 0 ? "ahead of" : "behind");
}

static int verdict_region(const struct verdict *verdict)
{
	char region[TRANSFER_WORD];

	verdict_element(verdict->transfer->problem, "<Region>", region, sizeof(region));
	if (region[0] == '\0')
		name_escape(verdict->transfer->region, region, sizeof(region));
	if (region[0] != '\0')
		return error_set(verdict->err, EKEYREJECTED,
				 "it is in the region '%s', not '%s': set AWS_REGION",
				 region, verdict->remote->region);
	return error_set(verdict->err, EKEYREJECTED,
			 "it is in another region than '%s', and the server does not "
			 "say in which: set AWS_REGION to it, and AWS_ENDPOINT_URL_S3 "
			 "where the bucket has an endpoint of its own",
			 verdict->remote->region);
}

/* What S3 says of whoever asks. 0: nothing. */
static int verdict_refused(const struct verdict *verdict)
{
	static const struct {
		const char *code, *line;
	} lines[] = {
		{"SignatureDoesNotMatch", "the secret key does not fit its key ID"},
		{"InvalidAccessKeyId", "the server does not know the key ID"},
		{"ExpiredToken", "the session token has expired: get a new one"},
		{"InvalidToken", "the session token is no good: get a new one"},
		{"TokenRefreshRequired", "the session token is old: get a new one"},
		{"AccountProblem", "something is wrong with the account"},
		{"InvalidSecurity", "the credentials are no good"},
	};

	if (!verdict->remote->bucket)
		return 0;
	if (strcmp(verdict->code, "RequestTimeTooSkewed") == 0)
		return verdict_skewed(verdict);
	if (strcmp(verdict->code, "AuthorizationHeaderMalformed") == 0 ||
	    strcmp(verdict->code, "PermanentRedirect") == 0 ||
	    verdict->transfer->status == 301)
		return verdict_region(verdict);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strcmp(verdict->code, lines[i].code) == 0)
			return error_set(verdict->err, EKEYREJECTED,
					 "%s (%s; credentials: %s)", lines[i].line,
					 lines[i].code, verdict->remote->credentials);
	return 0;
}

static int verdict_failed(const struct verdict *verdict, int code, const char *what)
{
	const char *between = verdict->code[0] != '\0' ? " " : "";

	return error_set(verdict->err, code, "%s (%ld%s%s)", what,
			 verdict->transfer->status, between, verdict->code);
}

static int verdict_forbidden(const struct verdict *verdict)
{
	if (strcmp(verdict->code, "InvalidObjectState") == 0)
		return verdict_failed(
			verdict, EBADMSG,
			"it is archived: restore it, then it can be read");
	return error_set(verdict->err, EACCES,
			 "it may not be read with these credentials: %s (%ld%s%s)",
			 verdict->remote->credentials, verdict->transfer->status,
			 verdict->code[0] != '\0' ? " " : "", verdict->code);
}

static int verdict_status(const struct verdict *verdict)
{
	long status = verdict->transfer->status;
	char what[96];
	int result = verdict_refused(verdict);

	if (result < 0)
		return result;
	if ((status >= 500 && status != 501) || status == 429 || status == 408 ||
	    strcmp(verdict->code, "RequestTimeout") == 0) {
		snprintf(what, sizeof(what), "the server says %ld%s%.60s", status,
			 verdict->code[0] != '\0' ? " " : "", verdict->code);
		return verdict_again(verdict, EAGAIN, what);
	}
	if (status == 401 || status == 403)
		return verdict_forbidden(verdict);
	if (status == 404 || status == 410)
		return verdict_failed(verdict, ENOENT, "it is not there");
	if (status == 412 || status == 416)
		return verdict_failed(verdict, ESTALE,
				      "it is not the one that was listed");
	if (status >= 300 && status < 400)
		return verdict_failed(verdict, EBADMSG,
				      "the server leads elsewhere, where no "
				      "credentials go: set the endpoint");
	if (status == 200 && verdict->transfer->get->part)
		return verdict_failed(verdict, EBADMSG,
				      "the server gives no parts of objects");
	return verdict_failed(verdict, EBADMSG, "the server's answer is of no use");
}

/* The part that was asked for? A cache between here and the server may have mixed them up:
 * it is asked again, a few times. */
static int verdict_part(const struct verdict *verdict)
{
	const struct transfer *transfer = verdict->transfer;
	const struct net_get *get = transfer->get;
	char what[96];

	if (transfer->ranged && transfer->first == get->from &&
	    transfer->last - transfer->first + 1 == get->got)
		return 0;
	if (transfer->ranged)
		snprintf(what, sizeof(what),
			 "the server gives bytes %llu-%llu, not from %llu on",
			 (unsigned long long)transfer->first,
			 (unsigned long long)transfer->last,
			 (unsigned long long)get->from);
	else
		snprintf(what, sizeof(what),
			 "the server does not say which part it gives "
			 "(Content-Range)");
	return get->retries < OTHER_PARTS
		       ? verdict_again(verdict, EAGAIN, what)
		       : error_set(verdict->err, EBADMSG, "%s", what);
}

/* Something came, and all of it. */
static int verdict_body(const struct verdict *verdict)
{
	const struct net_get *get = verdict->transfer->get;
	const char *wanted = get->etag;

	if (wanted != NULL && wanted[0] != '\0' && get->found_etag[0] != '\0' &&
	    strcmp(wanted, get->found_etag) != 0)
		return error_set(verdict->err, ESTALE,
				 "it is not the one that was listed (another ETag)");
	if (!get->head && get->exact && get->got < get->room)
		return error_set(verdict->err, ESTALE,
				 "it is not the one that was listed (%zu bytes, not "
				 "%zu)",
				 get->got, get->room);
	return get->part ? verdict_part(verdict) : 0;
}

/* By the deadline: what an earlier try met tells more. libcurl may end a try 2 ms before it: it
 * is given what is left in whole ms, rounded down, and rounds up what has passed of that. */
static bool verdict_cut_short(const struct transfer *transfer)
{
	const struct net_get *get = transfer->get;

	return transfer->result == CURLE_OPERATION_TIMEDOUT && get->retries > 0 &&
	       clock_now() + EARLY_NS >= get->deadline;
}

/* No answer, or a part of one. */
static int verdict_broken(const struct verdict *verdict)
{
	const struct transfer *transfer = verdict->transfer;
	const char *why = transfer->why[0] != '\0'
				  ? transfer->why
				  : curl_easy_strerror(transfer->result);
	char shown[160], *escape;

	name_escape(why, shown, sizeof(shown));
	while ((escape = strstr(shown, "\\'")) != NULL) /* it stands in no quotes */
		memmove(escape, escape + 1, strlen(escape));
	if (transfer->longer)
		return error_set(verdict->err, ESTALE,
				 "it is not the one that was listed: longer than %zu "
				 "bytes",
				 transfer->get->room);
	if (verdict_cut_short(transfer)) {
		*verdict->again = true;
		return -EAGAIN;
	}
	switch (transfer->result) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_SSL_CONNECT_ERROR:
		return verdict_again(verdict, EAGAIN, shown);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return error_set(verdict->err, EKEYREJECTED,
				 "who answers can't prove who it is (%s): see "
				 "AWS_CA_BUNDLE",
				 shown);
	default:
		return error_set(verdict->err, EBADMSG, "%s", shown);
	}
}

int verdict_of(struct transfer *transfer, bool *again)
{
	struct verdict verdict = {
		.transfer = transfer,
		.remote = transfer->get->remote,
		.err = &transfer->get->error,
		.again = again,
	};
	long wanted = transfer->get->part ? 206 : 200;

	*again = false;
	verdict_element(transfer->problem, "<Code>", verdict.code,
			sizeof(verdict.code));
	if (transfer->result != CURLE_OK && !transfer->cut)
		return verdict_broken(&verdict);
	if (transfer->status != wanted)
		return verdict_status(&verdict);
	return verdict_body(&verdict);
}
