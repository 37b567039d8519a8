/* serve.c - dsa serve: one loader for many jobs, until a signal ends it. */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"
#include "cmd/common/settings.h"
#include "cmd/common/signals.h"
#include "cmd/serve/serve_status.h"
#include "cmd/serve/serve_watch.h"
#include "loader/base/error.h"
#include "loader/base/limits.h"
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

/* Keys without a letter; settings.c has its own from 1000 on. */
enum {
	SOCKET = 300,
	MODE,
	WINDOW,
	JOBS,
	SLOW,
	TAKEOVER,
	AUDIT,
	DECODED,
	LEAVE,
	STATUS,
	JSON,
	SIZE,
	TYPE,
	LAYOUT,
	EVALUATE,
	IN_ORDER,
	EPOCHS
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "The jobs:", 1},
	{"socket", SOCKET, "FILE", 0,
	 "Listen there ($XDG_RUNTIME_DIR/dsa.sock, or /tmp/dsa-UID/dsa.sock)", 0},
	{"mode", MODE, "lockstep|free|joader", 0,
	 "Jobs go through whole epochs together, or each as it likes within the "
	 "window, or have data sets that overlap (free)",
	 0},
	{"window", WINDOW, "N", 0, "Keep N batches for jobs that are behind (8)", 0},
	{"jobs", JOBS, "N", 0, "Wait for N jobs before the first batch (1)", 0},
	{"slow", SLOW, "TIME", 0,
	 "A job that others wait for so long goes on alone, or wait: never (wait)", 0},
	{"takeover", TAKEOVER, "TIME", OPTION_ARG_OPTIONAL,
	 "Go on for the jobs of a loader that died; they have TIME to come back (10s)",
	 0},
	{"audit", AUDIT, "FILE", 0,
	 "Check that each job has every sample once an epoch, and write it there", 0},
	{"decoded", DECODED, NULL, 0,
	 "Share decoded pictures; each job crops its own from them", 0},
	{"leave", LEAVE, NULL, 0, "End when the last job left", 0},
	{NULL, 0, NULL, 0, "The samples, as the jobs want them:", 2},
	{"size", SIZE, "N", 0, "Side of the square delivered, pixels (224)", 0},
	{"type", TYPE, "float32|float16|uint8", 0, "Of its numbers (float32)", 0},
	{"layout", LAYOUT, "nchw|nhwc", 0, "Order of its numbers (nchw)", 0},
	{"evaluate", EVALUATE, NULL, 0,
	 "Resize and crop at the centre instead of random crops and flips", 0},
	{"in-order", IN_ORDER, NULL, 0, "Do not shuffle", 0},
	{"epochs", EPOCHS, "N", 0, "Then the data ends (no end)", 0},
	{NULL, 0, NULL, 0, "Output:", 3},
	{"status", STATUS, NULL, 0,
	 "Print the figures of the loader that listens there", 0},
	{"json", JSON, NULL, 0, "Print figures as JSON", 0},
	{"quiet", 'q', NULL, 0, "Print nothing but errors", 0},
	{"verbose", 'v', NULL, 0, "Print a line of figures every 10 seconds", 0},
	{0},
};

static void set_socket(struct argp_state *state, const char *arg, char *socket)
{
	if (*arg == '\0' || strlen(arg) >= SOCKET_MOST)
		argp_error(state, "--socket is a path of 1 to %d bytes, not %zu",
			   SOCKET_MOST - 1, strlen(arg));
	else
		strcpy(socket, arg);
}

static void set_slow(struct argp_state *state, const char *arg, uint64_t *ns)
{
	double seconds = 0;

	if (strcmp(arg, "wait") != 0)
		argument_time(state, "slow", arg, &seconds);
	*ns = (uint64_t)(seconds * 1e9);
}

static void add_dataset(struct argp_state *state, struct serve *serve, const char *arg)
{
	if (serve->dataset_count == SHARE_DATASETS)
		argp_error(state, "at most %d data sets", SHARE_DATASETS);
	else
		serve->datasets[serve->dataset_count++] = arg;
}

/* What fits together; the first data set is the loader's. */
static void serve_check(struct argp_state *state, struct serve *serve)
{
	if (serve->status && serve->dataset_count > 0)
		argp_error(state, "--status takes no data set: --socket says of which "
				  "loader");
	if (serve->dataset_count > 0 && serve->settings.dataset != NULL)
		argp_error(state, "the data set is given twice: '%s' and --dataset",
			   serve->datasets[0]);
	if (serve->dataset_count > 1 && serve->share.mode != SHARE_JOADER)
		argp_error(state, "several data sets take --mode=joader");
	if (serve->dataset_count > 0)
		serve->settings.dataset = serve->datasets[0];
	if (!serve->status && serve->settings.dataset == NULL &&
	    getenv("DSA_LOADER") == NULL)
		argp_error(state, "which data set? (dsa serve DATASET)");
}

static const struct argument arguments[] = {
#define AT(key, kind, member) ARGUMENT(serve, key, kind, member)
	AT(MODE, WORD, share.mode),
	ARGUMENT_NUMBER(serve, WINDOW, share.window, 3, 4096),
	ARGUMENT_NUMBER(serve, JOBS, share.jobs, 1, LIMIT_JOBS),
	AT(AUDIT, TEXT, share.audit),
	AT(DECODED, FLAG, share.decoded),
	AT(LEAVE, FLAG, share.leave),
	ARGUMENT_NUMBER(serve, SIZE, size, 1, LIMIT_SIZE),
	AT(TYPE, NAME, type),
	AT(LAYOUT, NAME, layout),
	AT(EVALUATE, FLAG, evaluate),
	AT(IN_ORDER, FLAG, in_order),
	ARGUMENT_NUMBER(serve, EPOCHS, epochs, 1, UINT32_MAX),
	AT(STATUS, FLAG, status),
	AT(JSON, FLAG, json),
	AT('q', FLAG, quiet),
	AT('v', FLAG, verbose),
	{0},
#undef AT
};

static error_t serve_parse(int key, char *arg, struct argp_state *state)
{
	struct serve *serve = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &serve->settings;
		return 0;
	case SOCKET:
		set_socket(state, arg, serve->socket);
		return 0;
	case SLOW:
		set_slow(state, arg, &serve->share.drop_ns);
		return 0;
	case TAKEOVER:
		serve->share.takeover = true;
		if (arg != NULL)
			argument_time(state, "takeover", arg, &serve->share.takeover_s);
		return 0;
	case ARGP_KEY_ARG:
		add_dataset(state, serve, arg);
		return 0;
	case ARGP_KEY_END:
		serve_check(state, serve);
		return 0;
	default:
		return argument_take(options, arguments, key, arg, state);
	}
}

static const struct argp_child children[] = {{&settings_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = serve_parse,
	.args_doc = "DATASET...",
	.doc = "Read and prepare a data set once for all training jobs on this "
	       "machine.",
	.children = children,
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

static struct share_server
	*volatile signalled; /* the one that a signal ends; NULL: it ends already */

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
	const struct dsa_config config = {0};
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

static int serve_run(int argc, char **argv)
{
	struct serve serve = {
		.settings.unfit = 1u << SETTING_STEPS,
		.share = {.mode = SHARE_FREE},
	};
	struct error err = {0};

	argp_parse(&argp, argc, argv, 0, NULL, &serve);
	if (find_socket(&serve, &err) < 0)
		return cmd_fail(&err);
	return serve.status ? show_status(&serve) : check_and_serve(&serve);
}

const struct command command_serve = {
	.name = "serve",
	.summary = "one loader for many training jobs",
	.argp = &argp,
	.run = serve_run,
};
