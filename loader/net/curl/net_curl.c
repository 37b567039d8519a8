/* net_curl.c - all requests of a net: sends them, lets them rest, ends them. */
#include "loader/base/backoff.h"
#include "loader/base/clock.h"
#include "loader/base/random.h"
#include "loader/net/curl/net_exit.h"
#include "loader/net/curl/net_verdict.h"
#include "loader/net/curl/page.h"
#include "loader/net/curl/transfer.h"
#include "loader/net/net_api.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	UNANSWERED = 3, /* tries of a server that never answered */
	SPARE = 4,      /* connections kept beside those that are needed */
};

#define NET_EXPORT __attribute__((visibility("default")))

struct net_curl {
	CURLM *multi;
	struct random random;
	double rest_s;
	unsigned most, resting;
	struct transfer transfers[];
};

static void net_curl_cancel_all(struct net_curl *net)
{
	for (unsigned i = 0; i < net->most; i++) {
		struct transfer *transfer = &net->transfers[i];
		struct net_get *get = transfer->get;

		if (get != NULL) {
			if (transfer->due == 0)
				curl_multi_remove_handle(net->multi, transfer->easy);
			transfer->get = NULL;
			error_set(&get->error, ECANCELED, "the loader ends");
			get->done(get, -ECANCELED);
		}
		if (transfer->easy != NULL)
			transfer_fini(transfer);
	}
}

/* What libcurl holds goes with a process that ends. */
static void net_curl_close(void *state)
{
	struct net_curl *net = state;

	if (net_enter()) {
		net_curl_cancel_all(net);
		if (net->multi != NULL)
			curl_multi_cleanup(net->multi);
		net_leave();
	}
	free(net);
}

static void *net_curl_open(const struct net_config *config, struct error *err)
{
	struct net_curl *net =
		calloc(1, sizeof(*net) + config->most * sizeof(struct transfer));
	bool made = net != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;

	if (net == NULL)
		goto no_memory;
	if (made)
		net_watch_exit();
	net->random.state = config->seed;
	net->rest_s = config->rest_s > 0 ? config->rest_s : BACKOFF_FIRST_S;
	net->multi = made ? curl_multi_init() : NULL;
	made = net->multi != NULL;
	while (made && net->most < config->most)
		made = transfer_init(&net->transfers[net->most++],
				     config->slow_s > 0 ? config->slow_s : 10);
	if (!made)
		goto no_memory;
	curl_multi_setopt(net->multi, CURLMOPT_MAXCONNECTS,
			  (long)(config->most + SPARE));
	return net;
no_memory:
	if (net != NULL)
		net_curl_close(net);
	return error_null(error_sys(err, ENOMEM, "cannot open the network"));
}

static void net_curl_end(struct transfer *transfer, int result)
{
	struct net_get *get = transfer->get;

	transfer->get = NULL;
	get->done(get, result);
}

static void net_curl_send(struct net_curl *net, struct transfer *transfer)
{
	int result = transfer_prepare(transfer);

	if (result == 0 &&
	    curl_multi_add_handle(net->multi, transfer->easy) != CURLM_OK)
		result =
			error_sys(&transfer->get->error, ENOMEM, "cannot be asked for");
	if (result < 0)
		net_curl_end(transfer, result);
}

static void net_curl_start(void *state, struct net_get *get)
{
	struct net_curl *net = state;
	unsigned i = 0;

	while (i < net->most && net->transfers[i].get != NULL)
		i++;
	get->retries = 0;
	get->error = (struct error){0};
	if (i == net->most) {
		get->done(get, error_set(&get->error, EBUSY,
					 "more than %u requests at once", net->most));
	} else if (net_enter()) {
		net->transfers[i].get = get;
		net_curl_send(net, &net->transfers[i]);
		net_leave();
	} else {
		get->done(get, error_set(&get->error, ECANCELED, "the program ends"));
	}
}

static void net_curl_cancel(void *state, const struct net_get *get)
{
	struct net_curl *net = state;
	unsigned i = 0;

	while (i < net->most && net->transfers[i].get != get)
		i++;
	if (i == net->most || !net_enter())
		return;
	if (net->transfers[i].due == 0)
		curl_multi_remove_handle(net->multi, net->transfers[i].easy);
	else
		net->resting--;
	net->transfers[i].get = NULL;
	net_leave();
}

static int net_curl_late(struct net_get *get)
{
	const struct error cause = get->error;

	return error_set(&get->error, ETIMEDOUT, "given up after %u %s: %s",
			 get->retries + 1, get->retries > 0 ? "tries" : "try",
			 cause.message);
}

/* Leaves the next try half of the time that is left, at the least. */
static uint64_t net_curl_rest(struct net_curl *net, const struct net_get *get,
			      double left_s)
{
	double rest_s =
		backoff_rest_s(net->rest_s, get->retries, random_unit(&net->random));

	return (uint64_t)(1e9 * fmin(rest_s, left_s / 2));
}

/* Of what may succeed a little later. */
static void net_curl_again(struct net_curl *net, struct transfer *transfer)
{
	const struct net_get *get = transfer->get;
	uint64_t now = clock_now();
	double left_s = get->deadline > now ? (double)(get->deadline - now) * 1e-9 : 0;
	bool nobody =
		get->first && transfer->status == 0 && get->retries + 1 >= UNANSWERED;

	if (nobody || left_s < net->rest_s) {
		net_curl_end(transfer, net_curl_late(transfer->get));
		return;
	}
	transfer->due = now + net_curl_rest(net, get, left_s) + 1;
	net->resting++;
}

static void net_curl_judge(struct net_curl *net, struct transfer *transfer)
{
	bool again;
	int result = verdict_of(transfer, &again);

	if (again)
		net_curl_again(net, transfer);
	else
		net_curl_end(transfer, result);
}

/* Sends those again that have rested. Returns when the next one has, or 0. */
static uint64_t net_curl_resume(struct net_curl *net)
{
	uint64_t now = clock_now(), next = 0;

	for (unsigned i = 0; net->resting > 0 && i < net->most; i++) {
		struct transfer *transfer = &net->transfers[i];

		if (transfer->get == NULL || transfer->due == 0)
			continue;
		if (transfer->due <= now) {
			net->resting--;
			transfer->get->retries++;
			net_curl_send(net, transfer);
		} else if (next == 0 || transfer->due < next) {
			next = transfer->due;
		}
	}
	return next;
}

/* Returns how many requests have ended or rest now. */
static unsigned net_curl_reap(struct net_curl *net)
{
	unsigned count = 0;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(net->multi, &left)) != NULL) {
		CURLcode result = message->data.result;
		struct transfer *transfer;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		transfer_ended(transfer, result);
		curl_multi_remove_handle(net->multi, transfer->easy);
		net_curl_judge(net, transfer);
		count++;
	}
	return count;
}

/* Lets requests go on. Returns how many have ended or rest now, and when one has rested; 1
 * while the process ends, when none does. */
static unsigned net_curl_go_on(struct net_curl *net, uint64_t *next)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	unsigned count;
	int running;

	if (!net_enter()) {
		nanosleep(&nap, NULL);
		return 1;
	}
	*next = net_curl_resume(net);
	curl_multi_perform(net->multi, &running);
	count = net_curl_reap(net);
	net_leave();
	return count;
}

static void net_curl_wait(void *state, uint64_t most_ns)
{
	struct net_curl *net = state;
	uint64_t next, now;

	if (net_curl_go_on(net, &next) > 0)
		return;
	now = clock_now();
	if (next > 0 && next < now + most_ns)
		most_ns = next > now ? next - now : 0;
	curl_multi_poll(net->multi, NULL, 0, (int)((most_ns + 999999) / 1000000), NULL);
	net_curl_go_on(net, &next);
}

static void net_curl_wake(void *state)
{
	const struct net_curl *net = state;

	curl_multi_wakeup(net->multi);
}

NET_EXPORT net_api_get dsa_net_api;

const struct net_api *dsa_net_api(void)
{
	static const struct net_api api = {
		.version = NET_API_VERSION,
		.open = net_curl_open,
		.close = net_curl_close,
		.start = net_curl_start,
		.cancel = net_curl_cancel,
		.wait = net_curl_wait,
		.wake = net_curl_wake,
		.read_page = page_read,
	};

	return &api;
}
