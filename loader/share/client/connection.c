/* connection.c - connects to a shared loader, joins it, and notices when it dies. */
#include "loader/share/client/connection.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/gpu.h"
#include "loader/prep.h"
#include "loader/share/ring/bcast_ring.h"
#include "loader/share/wire/class_names.h"
#include "loader/share/wire/join_request.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_S = 10, LOOK_MS = 50 };
#define ANSWER_NS (ANSWER_S * UINT64_C(1000000000))

/* ---- the socket ---- */

static int connection_explain_absence(const char *path, int code, struct error *err)
{
	if (code == ENOENT || code == ECONNREFUSED)
		return error_set(err, code,
				 "DSA_SHARE: no shared loader listens at %.100s: start "
				 "one: dsa serve DATASET --socket %.100s",
				 path, path);
	return error_sys(err, code == EAGAIN ? ETIMEDOUT : code,
			 "DSA_SHARE: cannot connect to %.100s", path);
}

static int connection_open_socket(const char *path, struct error *err)
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
		connection_explain_absence(path, errno, err);
		close(fd);
		return -err->code;
	}
	return fd;
}

/* Whoever serves us sees what we train on, and we believe its numbers. */
static int connection_check_peer(int socket, const char *path, struct error *err)
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
static int connection_await(struct connection *connection, uint64_t deadline)
{
	for (;;) {
		struct pollfd poll_for = {.fd = connection->socket, .events = POLLIN};
		int result = protocol_receive(connection->socket, &connection->inbox,
					      MSG_DONTWAIT);

		if (result < 0)
			return result;
		if (result > 0)
			return (int)protocol_type(&connection->inbox);
		if (*connection->ended)
			return -ECANCELED;
		if (deadline != 0 && clock_now() >= deadline)
			return -ETIMEDOUT;
		poll(&poll_for, 1, LOOK_MS);
	}
}

static int connection_await_answer(struct connection *connection)
{
	int type = connection_await(connection, clock_now() + ANSWER_NS);

	while (type == PROTOCOL_WAIT) {
		protocol_next(&connection->inbox);
		type = connection_await(connection, 0);
	}
	return type;
}

static int connection_explain_silence(int result, const char *path, struct error *err)
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

static int connection_check_output(const struct protocol_welcome *welcome,
				   const struct protocol_hello *hello,
				   struct error *err)
{
	const char *made = welcome->output;
	char wanted[PREP_OUTPUT];
	struct prep_config image;
	int result;

	if (hello->dataset[0] != '\0' && strcmp(welcome->dataset, hello->dataset) != 0)
		return error_set(err, EINVAL,
				 "DSA_SHARE: the shared loader reads %.90s, this "
				 "program wants %.90s",
				 welcome->dataset, hello->dataset);
	result = welcome->decoded
			 ? join_request_decoded(made, welcome->sample_bytes, err)
			 : join_request_fits(hello, made, welcome->sample_bytes, err);
	if (result != 0)
		return result < 0 ? result : 0;
	result = join_request_image(hello, &image, err);
	if (result < 0)
		return result;
	prep_output(&image, wanted);
	return error_set(err, EINVAL,
			 "DSA_SHARE: the shared loader delivers %s, this program wants "
			 "%s",
			 made, wanted);
}

static int connection_check_welcome(struct protocol_welcome *welcome,
				    const struct protocol_hello *hello,
				    struct error *err)
{
	welcome->output[sizeof(welcome->output) - 1] = '\0';
	welcome->dataset[sizeof(welcome->dataset) - 1] = '\0';
	welcome->features[sizeof(welcome->features) - 1] = '\0';
	if (welcome->version != PROTOCOL_VERSION)
		return error_set(err, EPROTO,
				 "DSA_SHARE: the shared loader speaks version %u, this "
				 "program %d: use the same dsa for both",
				 welcome->version, PROTOCOL_VERSION);
	if (welcome->slot >= BCAST_READERS || welcome->epoch_places == 0 ||
	    welcome->epoch_places > UINT32_MAX || welcome->remaining == 0 ||
	    welcome->remaining > UINT32_MAX || welcome->sample_bytes == 0)
		return error_set(
			err, EPROTO,
			"DSA_SHARE: the shared loader's numbers make no sense: "
			"slot %u, %llu of %llu places",
			welcome->slot, (unsigned long long)welcome->remaining,
			(unsigned long long)welcome->epoch_places);
	return connection_check_output(welcome, hello, err);
}

/* Once the samples' own numbers are known: takes come later. */
static bool connection_had(const void *context, uint32_t sample)
{
	const struct connection *connection = context;

	if (connection->id_map.of != NULL)
		sample = id_map_find(&connection->id_map, sample).sample;
	return sample_set_has(connection->had, sample);
}

static int connection_open_reader(struct connection *connection, struct error *err)
{
	const struct protocol_welcome *welcome = &connection->welcome;
	struct bcast_reader_config config = {
		.memory = protocol_take_fd(&connection->inbox),
		.page = protocol_take_fd(&connection->inbox),
		.event = protocol_take_fd(&connection->inbox),
		.slot = welcome->slot,
		.start = welcome->start,
		.epoch_places = welcome->epoch_places,
		.remaining = welcome->remaining,
		.audit = welcome->audit != 0,
	};
	int classes = protocol_take_fd(&connection->inbox);
	int id_map, result;

	if (welcome->mirrored)
		connection->mirror_fd = protocol_take_fd(&connection->inbox);
	id_map = protocol_take_fd(&connection->inbox);
	config.partial = id_map >= 0;
	if (connection->had != NULL) {
		config.had = connection_had;
		config.context = connection;
	}
	connection->reader = bcast_reader_open(&config, err);
	if (connection->reader == NULL)
		result = -err->code;
	else if (bcast_sample_bytes(connection->reader) != welcome->sample_bytes)
		result = error_set(err, EPROTO,
				   "DSA_SHARE: the shared loader's memory has samples "
				   "of %zu bytes, not %llu",
				   bcast_sample_bytes(connection->reader),
				   (unsigned long long)welcome->sample_bytes);
	else
		result = class_names_read(classes, welcome->classes,
					  &connection->classes, err);
	if (result == 0 && id_map >= 0)
		result = id_map_read(id_map, &connection->id_map, err);
	if (classes >= 0)
		close(classes);
	if (id_map >= 0)
		close(id_map);
	return result;
}

static int connection_join(struct connection *connection,
			   const struct connection_config *config, struct error *err)
{
	const struct protocol_hello *hello = config->hello;
	int result = connection_check_peer(connection->socket, config->path, err);

	if (result < 0)
		return result;
	result = protocol_send(connection->socket, PROTOCOL_HELLO, hello,
			       sizeof(*hello), NULL, 0);
	if (result == 0)
		result = connection_await_answer(connection);
	if (result == PROTOCOL_REFUSED) {
		const struct protocol_refused *said = protocol_body(&connection->inbox);

		return error_set(err, EACCES, "DSA_SHARE: %.*s", PROTOCOL_WHY - 1,
				 said->why);
	}
	if (result != PROTOCOL_WELCOME)
		return connection_explain_silence(result, config->path, err);
	memcpy(&connection->welcome, protocol_body(&connection->inbox),
	       sizeof(connection->welcome));
	result = connection_check_welcome(&connection->welcome, hello, err);
	if (result == 0)
		result = connection_open_reader(connection, err);
	protocol_next(&connection->inbox);
	return result;
}

struct connection *connection_open(const struct connection_config *config,
				   struct error *err)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (connection == NULL)
		return error_null(error_sys(
			err, ENOMEM, "DSA_SHARE: cannot join %.100s", config->path));
	connection->had = config->had;
	connection->ended = config->ended;
	connection->mirror_fd = -1;
	protocol_inbox_init(&connection->inbox);
	connection->socket = connection_open_socket(config->path, err);
	if (connection->socket >= 0 && connection_join(connection, config, err) == 0)
		return connection;
	connection_close(connection);
	return NULL;
}

static bool connection_map_mirror(struct connection *connection, struct gpu *gpu)
{
	size_t bytes;

	if (connection->mirror_fd < 0)
		return false;
	bcast_samples(connection->reader, &bytes);
	connection->mirror = gpu_mirror_map(gpu, connection->mirror_fd, bytes / 2);
	close(connection->mirror_fd);
	connection->mirror_fd = -1;
	if (connection->mirror == NULL)
		return false;
	bcast_use_mirror(connection->reader);
	bcast_say_device(connection->reader, gpu_mirror_read_only(connection->mirror)
						     ? BCAST_MIRROR
						     : BCAST_WRITABLE);
	return true;
}

void connection_use_device(struct connection *connection, struct gpu *gpu)
{
	size_t bytes;
	const void *samples = bcast_samples(connection->reader, &bytes);
	bool can;

	if (connection_map_mirror(connection, gpu))
		return;
	can = gpu_register_read_only(gpu, samples, bytes);
	connection->gpu = can ? gpu : NULL;
	bcast_say_device(connection->reader, can ? BCAST_MAPPING : BCAST_BUFFER);
}

static void connection_unregister(const struct connection *connection)
{
	size_t bytes;

	if (connection->gpu != NULL)
		gpu_unregister(connection->gpu,
			       bcast_samples(connection->reader, &bytes));
}

void connection_close(struct connection *connection)
{
	if (connection == NULL)
		return;
	connection_unregister(connection);
	gpu_mirror_close(connection->mirror);
	if (connection->mirror_fd >= 0)
		close(connection->mirror_fd);
	bcast_reader_close(connection->reader);
	protocol_inbox_fini(&connection->inbox);
	if (connection->socket >= 0) {
		/* a process that was forked may have it as well */
		shutdown(connection->socket, SHUT_RDWR);
		close(connection->socket);
	}
	id_map_fini(&connection->id_map);
	free(connection->classes);
	free(connection);
}

bool connection_unreachable(int code)
{
	return code == ENOENT || code == ECONNREFUSED || code == ETIMEDOUT ||
	       code == EPIPE;
}

void connection_look(struct connection *connection)
{
	int result =
		protocol_receive(connection->socket, &connection->inbox, MSG_DONTWAIT);

	if (result < 0)
		connection->gone = true;
	else if (result > 0)
		protocol_next(&connection->inbox); /* nothing is expected */
}

/* ---- samples among those of others ---- */

bool connection_copies(const struct connection *connection,
		       const struct bcast_batch *batch)
{
	return connection->id_map.of != NULL ||
	       (connection->had != NULL && batch->epoch == 0);
}

int connection_own(const struct connection *connection, uint32_t count,
		   uint32_t *labels, uint32_t *samples, struct error *err)
{
	if (connection->id_map.of == NULL)
		return 1;
	for (uint32_t i = 0; i < count; i++) {
		struct id_map_entry own = id_map_find(&connection->id_map, samples[i]);

		if (own.sample >= connection->welcome.dataset_samples)
			return error_set(err, EBADMSG,
					 "the shared loader delivered a sample that is "
					 "not in %.100s",
					 connection->welcome.dataset);
		samples[i] = own.sample;
		labels[i] = own.label;
	}
	return 1;
}
