/*
 * s3_server.c - serves a folder as a bucket of S3, for tests: as slow, as unreliable
 * and as strict as they want it.
 *
 *	s3_server [--NAME=VALUE ...] FOLDER
 *
 * Listens on 127.0.0.1 and prints the port. Ends with the thread that started it, and
 * on SIGTERM; the log is complete then. The table below says what can be set; the log
 * is described in s3/s3_connection.h, faults in s3/s3_fault.h.
 */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/base/throttle.h"
#include "tests/tool/s3/s3_answer.h"
#include "tests/tool/s3/s3_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS = 256, LEAST_PIECE = 1 << 10, MOST_PIECE = 1 << 18 };

struct server {
	struct s3_store store;
	struct s3_host host;
	uint64_t port, times, bandwidth;
	const char *log;
	int listener, timer, signals;
	uint64_t armed; /* what the timer waits for */
};

/* ---- settings ---- */

enum kind { TEXT, COUNT, SIZE, TIME, REAL, FLAG, FAULTS };

static const struct setting {
	const char *name;
	enum kind kind;
	size_t at;
} settings[] = {
	{"port", COUNT, offsetof(struct server, port)}, /* 0: any that is free */
	{"bucket", TEXT, offsetof(struct server, store.name)},
	{"log", TEXT, offsetof(struct server, log)},
	/* Who may read: without a key everybody. */
	{"region", TEXT, offsetof(struct server, store.access.region)},
	{"key", TEXT, offsetof(struct server, store.access.id)},
	{"secret", TEXT, offsetof(struct server, store.access.secret)},
	{"token", TEXT, offsetof(struct server, store.access.token)},
	{"anonymous", FLAG, offsetof(struct server, store.access.anonymous)},
	{"expired", FLAG, offsetof(struct server, store.access.expired)},
	{"ahead", TIME,
	 offsetof(struct server, store.ahead_s)}, /* the server's clock */
	/* How fast: jitter is the mean of what comes on top of the latency. */
	{"latency", TIME, offsetof(struct server, store.faults.latency_s)},
	{"jitter", TIME, offsetof(struct server, store.faults.jitter_s)},
	{"late", TIME, offsetof(struct server, store.faults.late_s)},
	{"bandwidth", SIZE,
	 offsetof(struct server, bandwidth)}, /* of all, bodies alone */
	{"rate", REAL,
	 offsetof(struct server, store.faults.rate)}, /* more a second: 429 */
	/* What goes wrong, for which keys, and how often for each of them. */
	{"seed", COUNT, offsetof(struct server, store.faults.seed)},
	{"faults", FAULTS, offsetof(struct server, store.faults)},
	{"only", TEXT, offsetof(struct server, store.faults.only)},
	{"times", COUNT, offsetof(struct server, times)},
	{"redirect", TEXT, offsetof(struct server, store.redirect)},
	{"listing", TEXT, offsetof(struct server, store.listing)},
	{"change-after", COUNT, offsetof(struct server, store.change_after)},
	{"expire-after", COUNT, offsetof(struct server, store.expire_after)},
	{"pause-after", COUNT, offsetof(struct server, host.pause_after)},
	{"pause", TIME, offsetof(struct server, host.pause_s)},
	{"die-after", COUNT, offsetof(struct server, host.die_after)},
};

static bool setting_read(enum kind kind, const char *text, void *at)
{
	switch (kind) {
	case TEXT:
		*(const char **)at = text;
		return true;
	case COUNT:
		return number_whole(text, UINT64_MAX, at);
	case SIZE:
		return number_size(text, at);
	case TIME:
		return number_time(text, at);
	case REAL:
		return number_real(text, at);
	case FLAG:
		*(bool *)at = true;
		return *text == 0;
	case FAULTS:
		break;
	}
	return s3_faults_parse(text, at);
}

/* "--name=value" or, of a flag, "--name". */
static bool setting_take(struct server *server, const char *option)
{
	size_t length = strcspn(option, "=");

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const struct setting *this = &settings[i];

		if (strncmp(option, "--", 2) != 0 || strlen(this->name) + 2 != length ||
		    strncmp(option + 2, this->name, length - 2) != 0)
			continue;
		return (option[length] == 0) == (this->kind == FLAG) &&
		       setting_read(this->kind,
				    option + length + (option[length] != 0 ? 1 : 0),
				    (char *)server + this->at);
	}
	return false;
}

static int server_read_settings(struct server *server, int argc, char **argv,
				struct error *err)
{
	struct s3_store *store = &server->store;

	store->name = "bucket";
	store->access.region = "us-east-1";
	for (int i = 1; i < argc - 1; i++)
		if (!setting_take(server, argv[i]))
			return error_set(err, EINVAL, "%s is no setting", argv[i]);
	if (argc < 2)
		return error_set(err, EINVAL, "name a folder");
	if ((store->access.id != NULL) != (store->access.secret != NULL))
		return error_set(err, EINVAL, "--key and --secret go together");
	if (store->faults.share[S3_FAULT_REDIRECT] > 0 && store->redirect == NULL)
		return error_set(err, EINVAL, "--faults=redirect needs --redirect");
	store->faults.times = (unsigned)server->times;
	return 0;
}

/* ---- the server ---- */

static int server_listen(struct server *server, struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)server->port)};
	socklen_t size = sizeof(address);
	int on = 1;

	server->listener =
		socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0 ||
	    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) <
		    0 ||
	    bind(server->listener, (struct sockaddr *)&address, size) < 0 ||
	    listen(server->listener, SOMAXCONN) < 0 ||
	    getsockname(server->listener, (struct sockaddr *)&address, &size) < 0)
		return error_sys(err, errno, "port %u", (unsigned)server->port);
	server->port = ntohs(address.sin_port);
	return 0;
}

static int server_watch(struct server *server, int fd, void *what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

	return fd < 0 ? -1 : epoll_ctl(server->host.epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Its own descriptors are known by the address of the member that holds them. */
static int server_prepare(struct server *server, struct error *err)
{
	sigset_t ends;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	server->signals = signalfd(-1, &ends, SFD_CLOEXEC);
	server->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	server->host.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server_watch(server, server->signals, &server->signals) < 0 ||
	    server_watch(server, server->timer, &server->timer) < 0 ||
	    server_watch(server, server->listener, &server->listener) < 0)
		return error_sys(err, errno, "epoll");
	return 0;
}

static uint64_t server_piece(uint64_t bandwidth)
{
	uint64_t piece = bandwidth / 100; /* ten milliseconds */

	if (piece < LEAST_PIECE)
		return LEAST_PIECE;
	return piece < MOST_PIECE ? piece : MOST_PIECE;
}

static int server_open(struct server *server, const char *folder, struct error *err)
{
	struct s3_host *host = &server->host;
	int result = s3_bucket_open(&server->store.bucket, folder, err);

	host->store = &server->store;
	host->began = clock_now();
	TAILQ_INIT(&host->waiting);
	LIST_INIT(&host->all);
	if (result == 0 && server->log != NULL &&
	    (host->log = fopen(server->log, "we")) == NULL)
		result = error_sys(err, errno, "%s", server->log);
	if (result == 0 && server->bandwidth > 0) {
		host->piece = server_piece(server->bandwidth);
		host->link = throttle_new((double)server->bandwidth, 0);
		if (host->link == NULL)
			result = error_set(err, ENOMEM, "out of memory");
	}
	if (result == 0)
		result = server_listen(server, err);
	return result == 0 ? server_prepare(server, err) : result;
}

static void server_accept(struct server *server)
{
	int fd, on = 1;

	while ((fd = accept4(server->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		s3_connection_open(&server->host, fd);
	}
}

static void server_event(struct server *server, const struct epoll_event *event)
{
	uint64_t expired;

	if (event->data.ptr == &server->signals)
		server->host.ended = true;
	else if (event->data.ptr == &server->listener)
		server_accept(server);
	else if (event->data.ptr != &server->timer)
		s3_connection_event(event->data.ptr, event->events);
	else if (read(server->timer, &expired, sizeof(expired)) > 0)
		server->armed = 0;
}

static void server_arm(struct server *server, uint64_t due)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(due / 1000000000u),
					     .tv_nsec = (long)(due % 1000000000u)}};

	if (due != server->armed)
		timerfd_settime(server->timer, TFD_TIMER_ABSTIME, &at, NULL);
	server->armed = due;
}

/* Nothing is accepted, read or sent; only SIGTERM is heard. */
static void server_pause(struct server *server)
{
	struct pollfd ends = {.fd = server->signals, .events = POLLIN};
	uint64_t now;

	while (!server->host.ended && (now = clock_now()) < server->host.paused_until) {
		uint64_t left = (server->host.paused_until - now) / 1000000 + 1;

		server->host.ended = poll(&ends, 1, (int)left) > 0;
	}
}

static void server_run(struct server *server)
{
	struct epoll_event events[EVENTS];

	while (!server->host.ended) {
		int count;

		server_pause(server);
		server_arm(server, s3_host_wake(&server->host));
		if (server->host.log != NULL)
			fflush(server->host.log);
		count = epoll_wait(server->host.epoll, events, EVENTS, -1);
		for (int i = 0; i < count && !server->host.ended; i++)
			server_event(server, &events[i]);
	}
}

static void server_close(struct server *server)
{
	s3_host_end(&server->host);
	if (server->host.log != NULL)
		fclose(server->host.log);
	throttle_free(server->host.link);
	s3_bucket_close(&server->store.bucket);
	close(server->host.epoll);
	close(server->timer);
	close(server->signals);
	close(server->listener);
}

/* A connection takes two descriptors while it sends an object. */
static void server_raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* What has a latency is another machine, which nothing here holds up: as far as the
 * system lets it, before all that is tested. */
static void server_keep_time(void)
{
	const struct sched_param first = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &first);
}

int main(int argc, char **argv)
{
	static struct server server;
	struct error err = {0};
	pid_t parent = getppid();

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1);
	server_raise_limit();
	if (getppid() != parent)
		return 2;
	if (server_read_settings(&server, argc, argv, &err) < 0 ||
	    server_open(&server, argv[argc - 1], &err) < 0) {
		fprintf(stderr, "s3_server: %s\n", err.message);
		return 2;
	}
	printf("%u\n", (unsigned)server.port);
	fflush(stdout);
	if (server.store.faults.latency_s > 0)
		server_keep_time();
	server_run(&server);
	server_close(&server);
	return 0;
}
