#include "loader/share/client/link.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/share/ring/feed.h"
#include "loader/share/wire/classes.h"
#include "loader/share/wire/hello.h"
#include "loader/share/wire/rest_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_S = 10, LOOK_MS = 50 };
#define ANSWER_NS (ANSWER_S * UINT64_C(1000000000))

/* ---- the socket ---- */

static int no_loader(const char *path, int code, struct error *err)
{
	if (code == ENOENT || code == ECONNREFUSED)
		return error_set(err, code,
				 "DSA_SHARE: no shared loader listens at %.100s: start "
				 "one: dsa serve DATASET --socket %.100s",
				 path, path);
	return error_sys(err, code == EAGAIN ? ETIMEDOUT : code,
			 "DSA_SHARE: cannot connect to %.100s", path);
}

static int open_socket(const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = ANSWER_S};
	size_t length = strlen(path);
	int fd, result;

	if (length >= sizeof(address.sun_path))
		return error_set(err, ENAMETOOLONG,
				 "DSA_SHARE: a socket's path has at most %zu bytes, "
				 "this one %zu",
				 sizeof(address.sun_path) - 1, length);
	memcpy(address.sun_path, path, length + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_sys(err, errno, "DSA_SHARE: cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do
		result = connect(fd, (struct sockaddr *)&address, sizeof(address));
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		no_loader(path, errno, err);
		close(fd);
		return -err->code;
	}
	return fd;
}

/* Whoever serves us sees what we train on, and we believe its numbers. */
static int check_peer(int socket, const char *path, struct error *err)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return error_sys(err, errno, "DSA_SHARE: who is at %.100s?", path);
	if (peer.uid == geteuid() || peer.uid == 0)
		return 0;
	return error_set(err, EPERM,
			 "DSA_SHARE: the loader at %.100s is user %u's: use one that "
			 "user %u started",
			 path, peer.uid, geteuid());
}

/* ---- messages ---- */

/* The next message, until `deadline` (0: for ever): its type, or -errno. */
static int link_await(struct link *link, uint64_t deadline)
{
	for (;;) {
		struct pollfd poll_for = {.fd = link->socket, .events = POLLIN};
		int result = protocol_receive(link->socket, &link->inbox, MSG_DONTWAIT);

		if (result < 0)
			return result;
		if (result > 0)
			return (int)protocol_type(&link->inbox);
		if (*link->ended)
			return -ECANCELED;
		if (deadline != 0 && clock_now() >= deadline)
			return -ETIMEDOUT;
		poll(&poll_for, 1, LOOK_MS);
	}
}

static int await_answer(struct link *link)
{
	int type = link_await(link, clock_now() + ANSWER_NS);

	while (type == PROTOCOL_WAIT) {
		protocol_next(&link->inbox);
		type = link_await(link, 0);
	}
	return type;
}

static int no_answer(int result, const char *path, struct error *err)
{
	if (result == -EPIPE || result == -ECONNRESET)
		return error_set(err, EPIPE,
				 "DSA_SHARE: the loader at %.100s ended while this "
				 "program joined it",
				 path);
	if (result == -ETIMEDOUT || result == -EAGAIN)
		return error_set(err, ETIMEDOUT,
				 "DSA_SHARE: what listens at %.100s does not answer: "
				 "is it dsa serve?",
				 path);
	if (result == -ENOMEM)
		return error_sys(err, ENOMEM, "DSA_SHARE: cannot join %.100s", path);
	return error_set(err, EPROTO,
			 "DSA_SHARE: what listens at %.100s is no shared loader of "
			 "this version",
			 path);
}

/* ---- joining ---- */

static int check_output(const struct protocol_welcome *welcome,
			const struct protocol_hello *hello, struct error *err)
{
	bool fits;

	if (hello->dataset[0] != '\0' && strcmp(welcome->dataset, hello->dataset) != 0)
		return error_set(err, EINVAL,
				 "DSA_SHARE: the shared loader reads %.90s, this "
				 "program wants %.90s",
				 welcome->dataset, hello->dataset);
	fits = welcome->decoded ? hello_decoded(welcome->output, welcome->sample_bytes)
				: strcmp(welcome->output, hello->output) == 0 &&
					  welcome->sample_bytes == hello->sample_bytes;
	if (!fits)
		return error_set(err, EINVAL,
				 "DSA_SHARE: the shared loader delivers %s, this "
				 "program wants %s",
				 welcome->output, hello->output);
	return 0;
}

static int check_welcome(struct protocol_welcome *welcome,
			 const struct protocol_hello *hello, struct error *err)
{
	welcome->output[sizeof(welcome->output) - 1] = '\0';
	welcome->dataset[sizeof(welcome->dataset) - 1] = '\0';
	if (welcome->version != PROTOCOL_VERSION)
		return error_set(err, EPROTO,
				 "DSA_SHARE: the shared loader speaks version %u, this "
				 "program %d: use the same dsa for both",
				 welcome->version, PROTOCOL_VERSION);
	if (welcome->seat >= FEED_SEATS || welcome->epoch_places == 0 ||
	    welcome->epoch_places > UINT32_MAX || welcome->remaining == 0 ||
	    welcome->remaining > UINT32_MAX || welcome->sample_bytes == 0)
		return error_set(
			err, EPROTO,
			"DSA_SHARE: the shared loader's numbers make no sense: "
			"seat %u, %llu of %llu places",
			welcome->seat, (unsigned long long)welcome->remaining,
			(unsigned long long)welcome->epoch_places);
	return check_output(welcome, hello, err);
}

static int open_reader(struct link *link, struct error *err)
{
	const struct protocol_welcome *welcome = &link->welcome;
	struct feed_reader_config config = {
		.memory = protocol_take_fd(&link->inbox),
		.page = protocol_take_fd(&link->inbox),
		.event = protocol_take_fd(&link->inbox),
		.seat = welcome->seat,
		.start = welcome->start,
		.epoch_places = welcome->epoch_places,
		.remaining = welcome->remaining,
		.audit = welcome->audit != 0,
	};
	int classes = protocol_take_fd(&link->inbox);
	int numbers = protocol_take_fd(&link->inbox), result;

	config.partial = numbers >= 0;
	link->memory = fcntl(config.memory, F_DUPFD_CLOEXEC, 3);
	link->reader = feed_read(&config, err);
	if (link->reader == NULL)
		result = -err->code;
	else if (feed_sample_bytes(link->reader) != welcome->sample_bytes)
		result = error_set(err, EPROTO,
				   "DSA_SHARE: the shared loader's memory has samples "
				   "of %zu bytes, not %llu",
				   feed_sample_bytes(link->reader),
				   (unsigned long long)welcome->sample_bytes);
	else
		result = classes_read(classes, welcome->classes, &link->classes, err);
	if (result == 0 && numbers >= 0)
		result = numbers_read(numbers, &link->numbers, err);
	if (classes >= 0)
		close(classes);
	if (numbers >= 0)
		close(numbers);
	return result;
}

static int link_refused(const struct link *link, struct error *err)
{
	const struct protocol_refused *body = protocol_body(&link->inbox);

	return error_set(err, EACCES, "DSA_SHARE: %.*s", PROTOCOL_WHY - 1, body->why);
}

static int link_join(struct link *link, const struct link_config *config,
		     struct error *err)
{
	const struct protocol_hello *hello = config->hello;
	int result = check_peer(link->socket, config->path, err);

	if (result < 0)
		return result;
	result = protocol_send(link->socket, PROTOCOL_HELLO, hello, sizeof(*hello),
			       &config->before, config->before >= 0);
	if (result == 0)
		result = await_answer(link);
	if (result == PROTOCOL_REFUSED)
		return link_refused(link, err);
	if (result != PROTOCOL_WELCOME)
		return no_answer(result, config->path, err);
	memcpy(&link->welcome, protocol_body(&link->inbox), sizeof(link->welcome));
	result = check_welcome(&link->welcome, hello, err);
	if (result == 0)
		result = open_reader(link, err);
	protocol_next(&link->inbox);
	return result;
}

struct link *link_open(const struct link_config *config, struct error *err)
{
	struct link *link = calloc(1, sizeof(*link));

	if (link == NULL) {
		error_sys(err, ENOMEM, "DSA_SHARE: cannot join %.100s", config->path);
		return NULL;
	}
	link->memory = link->rest_fd = -1;
	link->ended = config->ended;
	protocol_inbox_init(&link->inbox);
	link->socket = open_socket(config->path, err);
	if (link->socket >= 0 && link_join(link, config, err) == 0)
		return link;
	link_close(link);
	return NULL;
}

void link_close(struct link *link)
{
	if (link == NULL)
		return;
	feed_leave(link->reader);
	protocol_inbox_fini(&link->inbox);
	if (link->socket >= 0) {
		/* a process that was forked may have it as well */
		shutdown(link->socket, SHUT_RDWR);
		close(link->socket);
	}
	if (link->memory >= 0)
		close(link->memory);
	if (link->rest_fd >= 0)
		close(link->rest_fd);
	numbers_fini(&link->numbers);
	free(link->classes);
	free(link);
}

bool link_unreachable(int code)
{
	return code == ENOENT || code == ECONNREFUSED || code == ETIMEDOUT ||
	       code == EPIPE;
}

static void link_hear(struct link *link)
{
	if (protocol_type(&link->inbox) == PROTOCOL_REST && link->rest_fd < 0) {
		memcpy(&link->rest, protocol_body(&link->inbox), sizeof(link->rest));
		link->rest_fd = protocol_take_fd(&link->inbox);
	} /* nothing else is expected */
	protocol_next(&link->inbox);
}

void link_look(struct link *link)
{
	int result = protocol_receive(link->socket, &link->inbox, MSG_DONTWAIT);

	if (result < 0)
		link->gone = true;
	else if (result > 0)
		link_hear(link);
}

/* ---- samples among those of others ---- */

bool link_copies(const struct link *link)
{
	return link->numbers.of != NULL;
}

int link_own(const struct link *link, uint32_t count, uint32_t *labels,
	     uint32_t *samples, struct error *err)
{
	if (link->numbers.of == NULL)
		return 1;
	for (uint32_t i = 0; i < count; i++) {
		struct number own = numbers_own(&link->numbers, samples[i]);

		if (own.sample >= link->welcome.dataset_samples)
			return error_set(err, EBADMSG,
					 "the shared loader delivered a sample that is "
					 "not in %.100s",
					 link->welcome.dataset);
		samples[i] = own.sample;
		labels[i] = own.label;
	}
	return 1;
}

/* ---- dropped ---- */

static int no_rest(struct error *err)
{
	return error_set(err, EPROTO,
			 "the shared loader dropped this program and did not tell the "
			 "rest of the epoch");
}

/* All numbers that were sent; the caller frees them. */
static int read_numbers(const struct link *link, uint32_t **numbers, struct error *err)
{
	size_t bytes = rest_numbers(&link->rest) * sizeof(**numbers);

	*numbers = malloc(bytes + 1);
	if (*numbers == NULL)
		return error_sys(err, ENOMEM, "cannot load the rest of the epoch");
	if (pread(link->rest_fd, *numbers, bytes, 0) == (ssize_t)bytes)
		return 0;
	free(*numbers);
	no_rest(err);
	return -EPROTO;
}

static int check_samples(const struct link *link, const uint32_t *samples,
			 uint32_t count, struct error *err)
{
	for (uint32_t i = 0; i < count; i++)
		if (samples[i] >= link->welcome.dataset_samples)
			return error_set(
				err, EPROTO,
				"the rest of the epoch has a sample %u of "
				"%llu",
				samples[i],
				(unsigned long long)link->welcome.dataset_samples);
	return 0;
}

int link_rest(struct link *link, uint32_t *samples, uint32_t *count, struct error *err)
{
	const struct protocol_rest *rest = &link->rest;
	uint64_t next = feed_next(link->reader);
	uint32_t *numbers;
	int result;

	if (link->rest_fd < 0 && link_await(link, clock_now() + ANSWER_NS) >= 0)
		link_hear(link);
	if (link->rest_fd < 0 || next < rest->first || next > rest->end ||
	    rest->end - rest->first > link->welcome.places ||
	    rest->count > link->welcome.dataset_samples)
		return no_rest(err);
	result = read_numbers(link, &numbers, err);
	if (result < 0)
		return result;
	*count = rest_list(rest, numbers, next, feed_remaining(link->reader), samples);
	result = check_samples(link, samples, *count, err);
	free(numbers);
	return result;
}
