/* serve.c - dsa serve: one loader for many jobs, until a signal ends it. */
#include "cmd/common/cmd.h"
#include "cmd/common/settings.h"
#include "cmd/common/signals.h"
#include "cmd/serve/serve_status.h"
#include "cmd/serve/serve_watch.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/base/variants.h"
#include "loader/loader.h"
#include "loader/options.h"
#include "loader/share.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { SOCKET_MOST = sizeof(((struct sockaddr_un *)NULL)->sun_path) };

struct serve {
	struct settings settings;
	struct share_config share;
	const char *datasets[SHARE_DATASETS + 1];
	unsigned dataset_count;
	bool status, json, quiet, verbose;
	char socket[SOCKET_MOST];

	/* What samples become, and in which order. NULL or 0: not given. */
	const char *type, *layout;
	unsigned size, epochs;
	bool evaluate, in_order;
};

static void serve_set_socket(struct argp_state *state, void *socket, const char *arg)
{
	if (*arg == '\0' || strlen(arg) >= SOCKET_MOST)
		argument_error(state, "--socket is a path of 1 to %d bytes, not %zu",
			       SOCKET_MOST - 1, strlen(arg));
	else
		strcpy(socket, arg);
}

static void serve_set_slow(struct argp_state *state, void *ns, const char *arg)
{
	double seconds = 0;

	if (strcmp(arg, "wait") != 0)
		argument_time(state, arg, &seconds);
	*(uint64_t *)ns = (uint64_t)(seconds * 1e9);
}

static void serve_set_takeover(struct argp_state *state, void *options, const char *arg)
{
	struct serve *serve = options;

	serve->share.takeover = true;
	if (arg != NULL)
		argument_time(state, arg, &serve->share.takeover_s);
}

static void serve_add_dataset(struct argp_state *state, void *options, const char *arg)
{
	struct serve *serve = options;

	if (serve->dataset_count == SHARE_DATASETS)
		argument_error(state, "at most %d data sets", SHARE_DATASETS);
	else
		serve->datasets[serve->dataset_count++] = arg;
}

/* What fits together; the first data set is the loader's. */
static void serve_check(struct argp_state *state, void *options)
{
	struct serve *serve = options;

	if (serve->status && serve->dataset_count > 0)
		argument_error(state,
			       "--status takes no data set: --socket says of which "
			       "loader");
	if (serve->dataset_count > 0 && serve->settings.given[SETTING_DATASET] != NULL)
		argument_error(state, "the data set is given twice: '%s' and --dataset",
			       serve->datasets[0]);
	if (serve->dataset_count > 1 && serve->share.mode != SHARE_JOADER)
		argument_error(state, "several data sets take --mode=joader");
	if (serve->dataset_count > 0)
		serve->settings.given[SETTING_DATASET] = serve->datasets[0];
	if (!serve->status && serve->settings.given[SETTING_DATASET] == NULL &&
	    getenv("DSA_LOADER") == NULL)
		argument_error(state, "which data set? (dsa serve DATASET)");
}

#define TO(kind, member)            ARGUMENT(serve, kind, member)
#define NUMBER(member, least, most) ARGUMENT_NUMBER(serve, member, least, most)

static const struct argument arguments[] = {
	ARGUMENT_HEADING(1, "The jobs:"),
	{"socket", 0, "FILE", ARGUMENT_BY(serve, socket, serve_set_socket),
	 "Listen there ($XDG_RUNTIME_DIR/dsa.sock, or /tmp/dsa-UID/dsa.sock)"},
	{"mode", 0, "lockstep|free|joader", TO(WORD, share.mode),
	 "Jobs go through whole epochs together, or each as it likes within the "
	 "window, or have data sets that overlap (free)"},
	{"window", 0, "N", NUMBER(share.window, 3, 4096),
	 "Keep N batches for jobs that are behind (8)"},
	{"jobs", 0, "N", NUMBER(share.jobs, 1, LIMIT_JOBS),
	 "Wait for N jobs before the first batch (1)"},
	{"slow", 0, "TIME", ARGUMENT_BY(serve, share.drop_ns, serve_set_slow),
	 "A job that others wait for so long goes on alone, or wait: never (wait)"},
	{"takeover", 0, "TIME", ARGUMENT_ALL_BY(MAYBE, serve_set_takeover),
	 "Go on for the jobs of a loader that died; they have TIME to come back (10s)"},
	{"audit", 0, "FILE", TO(TEXT, share.audit),
	 "Check that each job has every sample once an epoch, and write it there"},
	{"decoded", 0, NULL, TO(FLAG, share.decoded),
	 "Share decoded pictures; each job crops its own from them"},
	{"device", 0, "cuda[:N]", TO(TEXT, share.device),
	 "Copy the samples there, once for all jobs of that device"},
	{"leave", 0, NULL, TO(FLAG, share.leave), "End when the last job left"},
	ARGUMENT_HEADING(2,
			 "The samples, where it is not to be as the first job wants:"),
	{"size", 0, "N", NUMBER(size, 1, LIMIT_SIZE),
	 "Side of the square delivered, pixels"},
	{"type", 0, PREP_TYPE_NAMES, TO(NAME, type), "Of its numbers"},
	{"layout", 0, "nchw|nhwc", TO(NAME, layout), "Order of its numbers"},
	{"evaluate", 0, NULL, TO(FLAG, evaluate),
	 "Resize and crop at the centre instead of random crops and flips"},
	{"in-order", 0, NULL, TO(FLAG, in_order), "Do not shuffle"},
	{"epochs", 0, "N", NUMBER(epochs, 1, UINT32_MAX),
	 "Then the data ends (no end)"},
	ARGUMENT_HEADING(3, "Output:"),
	{"status", 0, NULL, TO(FLAG, status),
	 "Print the figures of the loader that listens there"},
	{"json", 0, NULL, TO(FLAG, json), "Print figures as JSON"},
	{"quiet", 'q', NULL, TO(FLAG, quiet), "Print nothing but errors"},
	{"verbose", 'v', NULL, TO(FLAG, verbose),
	 "Print a line of figures every 10 seconds"},
	{NULL, 0, "DATASET...", ARGUMENT_ALL_BY(EACH, serve_add_dataset), NULL},
	SETTINGS(serve),
};

/* ---- status ---- */

static int serve_print(const struct serve *serve, const char *json, struct error *err)
{
	if (!serve->json)
		return serve_status_table(stdout, json, err);
	fputs(json, stdout);
	return 0;
}

static int show_status(const struct serve *serve)
{
	struct error err = {0};
	char *json = NULL;
	int rc = share_status(serve->socket, &json, &err);

	if (rc == 0)
		rc = serve_print(serve, json, &err);
	free(json);
	return rc < 0 ? cmd_fail(&err) : 0;
}

/* ---- serving ---- */

/* The one that a signal ends; NULL: it ends already. */
static struct share_server *volatile signalled;

static void on_signal(int number)
{
	(void)number;
	if (signalled != NULL)
		share_server_stop(signalled);
}

/* The first signal from now on ends the server, a second one the process. */
static void take_signals(struct share_server *server)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	signalled = server;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signals_take(numbers[i], on_signal, (int)SA_RESETHAND | SA_RESTART);
}

/* What is served and how to use it, or at the end its figures. */
static int show_server(const struct serve *serve, struct share_server *server,
		       bool begins, struct error *err)
{
	char *json = NULL;
	int rc;

	if (serve->quiet && (begins || !serve->json))
		return 0;
	rc = share_server_status(server, &json, err);
	if (rc == 0)
		rc = begins ? serve_status_begin(stderr, json, err)
			    : serve_print(serve, json, err);
	free(json);
	return rc;
}

static int run_server(const struct serve *serve, struct share_server *server,
		      struct serve_watch *watch, struct error *err)
{
	int rc = show_server(serve, server, true, err);

	if (rc < 0)
		return rc;
	take_signals(server);
	rc = serve_watch_begin(watch, serve->socket, serve->verbose, err);
	if (rc == 0)
		rc = share_server_run(server, err);
	serve_watch_end(watch);
	take_signals(NULL);
	if (rc == 0)
		rc = show_server(serve, server, false, err);
	return rc;
}

static int serve_all(struct serve *serve, const char *text, struct error *err)
{
	const struct dsa_config config = {0};
	struct serve_watch watch;
	struct share_server *server;
	int rc;

	signal(SIGPIPE, SIG_IGN); /* the jobs do not depend on who reads our words */
	serve->share.loader = &config;
	serve->share.settings = text;
	serve->share.socket = serve->socket;
	if (serve->share.mode == SHARE_JOADER)
		serve->share.datasets = serve->datasets;
	serve_watch_init(&watch, serve->quiet);
	serve->share.log = serve_watch_print;
	serve->share.context = &watch;
	server = share_server_open(&serve->share, err);
	if (server == NULL)
		return -err->code;
	rc = run_server(serve, server, &watch, err);
	share_server_close(server);
	return rc;
}

/* The value of DSA_LOADER, then the options; NULL: no memory. */
static char *serve_loader_text(const struct serve *serve)
{
	const char *before = getenv("DSA_LOADER");
	char size[32] = "", epochs[32] = "", *own, *text;

	if (serve->size > 0)
		snprintf(size, sizeof(size), ",size=%u", serve->size);
	if (serve->epochs > 0)
		snprintf(epochs, sizeof(epochs), ",epochs=%u", serve->epochs);
	if (asprintf(&own, "%s%s%s%s%s%s%s%s%s", before != NULL ? before : "", size,
		     epochs, serve->type != NULL ? ",type=" : "",
		     serve->type != NULL ? serve->type : "",
		     serve->layout != NULL ? ",layout=" : "",
		     serve->layout != NULL ? serve->layout : "",
		     serve->evaluate ? ",evaluate=1" : "",
		     serve->in_order ? ",in_order=1" : "") < 0)
		return NULL;
	text = settings_loader(&serve->settings, own);
	free(own);
	return text;
}

/* Checks all options before it opens anything. Returns the exit status. */
static int check_and_serve(struct serve *serve)
{
	char *text = serve_loader_text(serve);
	const struct dsa_config config = {.device = serve->share.device};
	static struct options resolved;
	struct error err = {0};
	bool usage = false;

	if (text == NULL)
		error_sys(&err, ENOMEM, "cannot read the options");
	else if (options_resolve(&resolved, &config, text, &err) < 0)
		usage = true;
	else if (settings_take_cores(&serve->settings, &err) == 0) {
		serve->datasets[0] = resolved.dataset; /* however it was given */
		serve_all(serve, text, &err);
	}
	free(text);
	if (err.code == 0)
		return 0;
	return (usage ? cmd_refuse : cmd_fail)(&err);
}

/* Where to listen, or whom to ask. */
static int find_socket(struct serve *serve, struct error *err)
{
	const char *share = serve->status ? getenv("DSA_SHARE") : NULL;

	if (serve->socket[0] != '\0')
		return 0;
	if (share == NULL || *share == '\0')
		return share_socket_path(serve->socket, sizeof(serve->socket), err);
	if (strlen(share) >= sizeof(serve->socket))
		return error_set(err, ENAMETOOLONG, "DSA_SHARE is too long a path");
	strcpy(serve->socket, share);
	return 0;
}

static int serve_run(const struct command *self, int argc, char **argv)
{
	struct serve serve = {
		.share = {.mode = SHARE_FREE, .follow = true},
	};
	struct error err = {0};

	argument_read(self, argc, argv, &serve);
	if (find_socket(&serve, &err) < 0)
		return cmd_fail(&err);
	return serve.status ? show_status(&serve) : check_and_serve(&serve);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "one loader for many training jobs",
	.arguments = arguments,
	.unfit = 1u << SETTING_STEPS,
	.check = serve_check,
	.doc = "Read and prepare a data set once for all training jobs on this "
	       "machine.",
	.run = serve_run,
};
