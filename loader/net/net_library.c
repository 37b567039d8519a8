/* net_library.c - opens libdsa-net.so, and calls it. */
#include "loader/base/host/own_folder.h"
#include "loader/net.h"
#include "loader/net/net_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIBRARY "libdsa-net.so"

struct net {
	const struct net_api *api;
	void *state;
};

static const struct net_api *net_load(struct error *err)
{
	net_api_get *get = NULL;
	char path[PATH_MAX];
	void *library, *found;

	if (!own_folder_find(LIBRARY, path))
		return error_null(error_set(
			err, ENOENT,
			"buckets and web servers need " LIBRARY
			", which lies neither beside libdsa nor in the folder dsa "
			"there: install dsa again, with the packages libcurl4 and "
			"libexpat1"));
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return error_null(error_set(err, ENOENT,
					    "buckets and web servers need the packages "
					    "libcurl4 and libexpat1: %.120s",
					    dlerror()));
	found = dlsym(library, NET_API_SYMBOL);
	memcpy(&get, &found, sizeof(get));
	if (get != NULL && get()->version == NET_API_VERSION)
		return get();
	return error_null(error_set(err, ELIBBAD,
				    "%.160s is of another version of dsa: install both "
				    "anew",
				    path));
}

struct net *net_open(const struct net_config *config, struct error *err)
{
	struct net *net = calloc(1, sizeof(*net));

	if (net == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the network"));
	net->api = net_load(err);
	if (net->api != NULL)
		net->state = net->api->open(config, err);
	if (net->state != NULL)
		return net;
	free(net);
	return NULL;
}

void net_close(struct net *net)
{
	if (net == NULL)
		return;
	net->api->close(net->state);
	free(net);
}

void net_start(struct net *net, struct net_get *get)
{
	net->api->start(net->state, get);
}

void net_cancel(struct net *net, const struct net_get *get)
{
	net->api->cancel(net->state, get);
}

void net_wait(struct net *net, uint64_t most_ns)
{
	net->api->wait(net->state, most_ns);
}

void net_wake(struct net *net)
{
	net->api->wake(net->state);
}

int net_read_page(struct net *net, const char *text, size_t size, struct net_page *page,
		  struct error *err)
{
	return net->api->read_page(text, size, page, err);
}

struct call {
	struct net_get *get;
	int result;
	bool ended;
};

static void call_done(struct net_get *get, int result)
{
	struct call *call = get->context;

	call->result = result;
	call->ended = true;
}

static bool call_stopped(const struct net_get *get)
{
	return get->stop != NULL && atomic_load(get->stop);
}

/*
 * The thread may be the program's: a connection that the other side has closed must not
 * end it with SIGPIPE, which TLS libraries let happen.
 */
int net_call(struct net *net, struct net_get *get, struct error *err)
{
	static const struct timespec now = {0};
	struct call call = {.get = get};
	sigset_t pipe, before, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	get->context = &call;
	get->done = call_done;
	net_start(net, get);
	while (!call.ended && !call_stopped(get))
		net_wait(net, UINT64_C(100000000));
	if (!call.ended) {
		net_cancel(net, get);
		call.result = error_set(&get->error, ECANCELED, "it was stopped");
	}
	if (!sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &now) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (call.result < 0 && err != NULL)
		*err = get->error;
	return call.result;
}
