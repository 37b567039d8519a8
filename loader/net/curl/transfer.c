/* transfer.c - sets up a request, and takes what comes. */
#include "loader/net/curl/transfer.h"
#include "loader/base/bytes/copy_past.h"
#include "loader/base/clock.h"
#include "loader/net/curl/transfer_head.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_URL = 8192,
	MOST_REDIRECTS = 5,
	MOST_PROBLEM = 1 << 20, /* bytes of an error's body; then it is cut off */
	SLOW_BYTES = 1000,      /* a second */
	RECEIVE = 128 << 10,
};

bool transfer_init(struct transfer *transfer, double slow_s)
{
	transfer->easy = curl_easy_init();
	transfer->slow_s = slow_s;
	return transfer->easy != NULL;
}

void transfer_fini(struct transfer *transfer)
{
	curl_slist_free_all(transfer->headers);
	curl_easy_cleanup(transfer->easy);
}

/* What an error says; no more than a little of it is kept. */
static size_t transfer_problem(struct transfer *transfer, const char *data, size_t size)
{
	size_t room = sizeof(transfer->problem) - 1 - transfer->problem_size;
	size_t kept = size < room ? size : room;

	memcpy(transfer->problem + transfer->problem_size, data, kept);
	transfer->problem_size += kept;
	transfer->problem[transfer->problem_size] = '\0';
	transfer->passed += size - kept;
	transfer->cut = transfer->passed >= MOST_PROBLEM;
	return transfer->cut ? 0 : size;
}

static size_t transfer_body(char *data, size_t one, size_t size, void *context)
{
	struct transfer *transfer = context;
	struct net_get *get = transfer->get;

	(void)one;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->status);
	if (transfer->status != (get->part ? 206 : 200))
		return transfer_problem(transfer, data, size);
	if (size > get->room - get->got) {
		transfer->longer = true;
		return 0;
	}
	copy_past(get->body + get->got, data, size, get->room);
	get->got += size;
	return size;
}

static bool transfer_add_header(struct transfer *transfer, const char *name,
				const char *value)
{
	struct curl_slist *longer;
	char *line;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return false;
	longer = curl_slist_append(transfer->headers, line);
	explicit_bzero(line, strlen(line));
	free(line);
	if (longer == NULL)
		return false;
	transfer->headers = longer;
	return true;
}

/* A weak ETag ("W/...") matches nothing in If-Match: it is compared when it has come. */
static bool transfer_headers(struct transfer *transfer)
{
	const struct net_get *get = transfer->get;
	const struct net_remote *remote = get->remote;
	bool made = true;

	curl_slist_free_all(transfer->headers);
	transfer->headers = NULL;
	if (get->etag != NULL && get->etag[0] == '"')
		made = transfer_add_header(transfer, "If-Match", get->etag);
	if (made && remote->id != NULL)
		made = transfer_add_header(transfer, "x-amz-content-sha256",
					   "UNSIGNED-PAYLOAD");
	if (made && remote->id != NULL && remote->token != NULL)
		made = transfer_add_header(transfer, "x-amz-security-token",
					   remote->token);
	return made;
}

/* Signatures are made of the URL as it is sent: encoded here, changed by nobody. */
static int transfer_url(const struct net_get *get, char url[MOST_URL])
{
	const struct net_remote *remote = get->remote;
	const char *start = get->query != NULL ? remote->list : remote->base;
	size_t used = strlen(start);

	if (used >= MOST_URL)
		return -ENAMETOOLONG;
	memcpy(url, start, used + 1);
	if (get->query == NULL)
		used = net_url_encode(url, MOST_URL, used, get->path, 1);
	else if (used + 1 + strlen(get->query) < MOST_URL)
		used += (size_t)snprintf(url + used, MOST_URL - used, "?%s",
					 get->query);
	else
		used = MOST_URL;
	return used < MOST_URL ? 0 : -ENAMETOOLONG;
}

static void transfer_sign(const struct transfer *transfer)
{
	const struct net_remote *remote = transfer->get->remote;
	char how[128];

	if (remote->id == NULL)
		return;
	snprintf(how, sizeof(how), "aws:amz:%.64s:s3", remote->region);
	curl_easy_setopt(transfer->easy, CURLOPT_AWS_SIGV4, how);
	curl_easy_setopt(transfer->easy, CURLOPT_USERNAME, remote->id);
	curl_easy_setopt(transfer->easy, CURLOPT_PASSWORD, remote->secret);
}

/* A connection that hangs must not take all the time that there is: libcurl counts whole
 * seconds. */
static double transfer_slow_s(const struct transfer *transfer)
{
	double part_s = transfer->get->remote->deadline_s / 4;

	return fmax(1, fmin(transfer->slow_s, part_s));
}

/* Credentials follow no redirect, as no signed request does. */
static void transfer_limits(const struct transfer *transfer)
{
	const struct net_get *get = transfer->get;
	double slow_s = transfer_slow_s(transfer);
	uint64_t now = clock_now();
	uint64_t left = get->deadline > now ? (get->deadline - now) / 1000000 : 0;
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(slow_s * 1000));
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)slow_s);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, get->remote->bucket ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTS);
	curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
			 strncmp(get->remote->base, "https", 5) == 0 ? "https"
								     : "http,https");
}

static void transfer_what(struct transfer *transfer, const char *url)
{
	const struct net_get *get = transfer->get;
	CURL *easy = transfer->easy;
	char range[64];

	curl_easy_setopt(easy, CURLOPT_URL, url);
	/* Newer versions of libcurl refuse to sign a URL that is sent as it is. */
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, net_url_has_dots(url) ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(easy, CURLOPT_NOBODY, get->head ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "dsa/" DSA_VERSION);
	if (get->remote->ca_bundle != NULL)
		curl_easy_setopt(easy, CURLOPT_CAINFO, get->remote->ca_bundle);
	if (!get->part)
		return;
	snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)get->from,
		 (unsigned long long)(get->from + get->room - 1));
	curl_easy_setopt(easy, CURLOPT_RANGE, range);
}

int transfer_prepare(struct transfer *transfer)
{
	struct net_get *get = transfer->get;
	CURL *easy = transfer->easy;
	char url[MOST_URL];

	if (transfer_url(get, url) < 0)
		return error_set(&get->error, ENAMETOOLONG, "the name is too long");
	curl_easy_reset(easy);
	if (!transfer_headers(transfer))
		return error_sys(&get->error, ENOMEM, "cannot be asked for");
	transfer->due = 0;
	transfer->longer = transfer->cut = transfer->ranged = false;
	transfer->status = 0;
	transfer->date = -1;
	transfer->etag[0] = transfer->region[0] = transfer->why[0] = '\0';
	transfer->problem[0] = '\0';
	transfer->problem_size = transfer->passed = 0;
	get->got = 0;
	transfer_what(transfer, url);
	transfer_sign(transfer);
	transfer_limits(transfer);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->why);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	return 0;
}

void transfer_ended(struct transfer *transfer, CURLcode result)
{
	struct net_get *get = transfer->get;
	curl_off_t length = -1;

	transfer->result = result;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->status);
	curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	get->length = length >= 0 ? (uint64_t)length : UINT64_MAX;
	if (get->part)
		get->length = transfer->ranged ? transfer->whole : UINT64_MAX;
	get->date_s = transfer->date > 0 ? (uint64_t)transfer->date : 0;
	memcpy(get->found_etag, transfer->etag, sizeof(get->found_etag));
}
