#include "tests/lib/actor.h"
#include "loader/source.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const char actor_dataset[] = "synthetic:60";

/* Found once: its pictures are made anew wherever it is opened. */
static uint64_t dataset_bytes(void)
{
	static uint64_t bytes;
	const struct source_config config = {.index_dir = ""};
	struct source *source;

	if (bytes > 0)
		return bytes;
	source = source_open(actor_dataset, &config, NULL);
	bytes = source_facts(source)->bytes;
	source_close(source);
	return bytes;
}

static struct bcast_ring *ring_of(uint64_t sequence, struct gpu *gpu)
{
	const struct bcast_config config = {.places = ACTOR_PLACES,
					    .slots = 1,
					    .batch = ACTOR_PIECE,
					    .sample_bytes = ACTOR_BYTES,
					    .sequence = sequence,
					    .gpu = gpu};
	struct bcast_ring *ring = bcast_open(&config, NULL);

	assert_non_null(ring);
	return ring;
}

void actor_mirror(struct actor *actor, struct gpu *gpu)
{
	bcast_close(actor->ring);
	actor->ring = ring_of(actor->welcome.start, gpu);
	actor->welcome.mirrored = 1;
}

struct actor actor_of(const char *path, void (*script)(struct actor *),
		      uint64_t sequence)
{
	struct actor actor = {
		.path = path,
		.script = script,
		.peer = -1,
		.numbers = -1,
		.welcome = {.version = PROTOCOL_VERSION,
			    .start = sequence,
			    .epoch_places = ACTOR_COUNT,
			    .remaining = ACTOR_COUNT,
			    .dataset_samples = ACTOR_COUNT,
			    .dataset_bytes = dataset_bytes(),
			    .sample_bytes = ACTOR_BYTES,
			    .classes = ACTOR_NAMES,
			    .workers = 3,
			    .server_pid = 4711,
			    .output = "uint8 NCHW 4"},
	};

	actor.ring = ring_of(sequence, NULL);
	snprintf(actor.welcome.dataset, sizeof(actor.welcome.dataset), "%s",
		 actor_dataset);
	return actor;
}

/* False: the test ended it before a program came. */
static bool connected(struct actor *actor)
{
	struct pollfd ready = {.fd = actor->listener, .events = POLLIN};

	assert_int_equal(poll(&ready, 1, -1), 1);
	actor->peer = accept(actor->listener, NULL, NULL);
	return actor->peer >= 0;
}

static void receive_hello(struct actor *actor)
{
	struct protocol_inbox inbox;

	protocol_inbox_init(&inbox);
	assert_int_equal(protocol_receive(actor->peer, &inbox, MSG_WAITALL), 1);
	assert_int_equal(protocol_type(&inbox), PROTOCOL_HELLO);
	memcpy(&actor->hello, protocol_body(&inbox), sizeof(actor->hello));
	protocol_inbox_fini(&inbox);
}

static void await_hello(struct actor *actor)
{
	assert_true(connected(actor));
	receive_hello(actor);
}

static int names(void)
{
	int fd = memfd_create("names", MFD_CLOEXEC);

	for (unsigned i = 0; i < ACTOR_NAMES; i++)
		dprintf(fd, "class %u%c", i, 0);
	return fd;
}

static void send_welcome(struct actor *actor)
{
	struct bcast_handles slot;
	int fds[PROTOCOL_FDS];
	unsigned count = 4;
	int number = bcast_attach(actor->ring, actor->welcome.start, &slot, NULL);

	assert_true(number >= 0);
	actor->slot = actor->welcome.slot = (uint32_t)number;
	fds[0] = bcast_fd(actor->ring);
	fds[1] = slot.page;
	fds[2] = slot.event;
	fds[3] = names();
	if (actor->welcome.mirrored)
		fds[count++] = bcast_mirror_fd(actor->ring);
	if (actor->numbers >= 0)
		fds[count++] = actor->numbers;
	assert_int_equal(protocol_send(actor->peer, PROTOCOL_WELCOME, &actor->welcome,
				       sizeof(actor->welcome), fds, count),
			 0);
	close(fds[3]);
}

void actor_welcome(struct actor *actor)
{
	await_hello(actor);
	send_welcome(actor);
}

void actor_welcome_who_comes(struct actor *actor)
{
	if (!connected(actor))
		return;
	receive_hello(actor);
	send_welcome(actor);
}

void actor_welcome_late(struct actor *actor)
{
	await_hello(actor);
	assert_int_equal(protocol_send(actor->peer, PROTOCOL_WAIT, NULL, 0, NULL, 0),
			 0);
	send_welcome(actor);
}

void actor_refuse(struct actor *actor)
{
	const struct protocol_refused refused = {"there are 64 jobs: no more readers"};

	await_hello(actor);
	protocol_send(actor->peer, PROTOCOL_REFUSED, &refused, sizeof(refused), NULL,
		      0);
}

/* As one that ends: nobody else gets in either. */
static void hang_up(struct actor *actor)
{
	shutdown(actor->listener, SHUT_RDWR);
	shutdown(actor->peer, SHUT_RDWR);
}

void actor_hang_up(struct actor *actor)
{
	await_hello(actor);
	hang_up(actor);
}

void actor_wait_and_hang_up(struct actor *actor)
{
	await_hello(actor);
	protocol_send(actor->peer, PROTOCOL_WAIT, NULL, 0, NULL, 0);
	hang_up(actor);
}

void actor_talk_nonsense(struct actor *actor)
{
	await_hello(actor);
	assert_true(write(actor->peer, "HTTP/1.0 200 OK\r\n\r\n", 19) == 19);
}

void actor_welcome_empty_handed(struct actor *actor)
{
	await_hello(actor);
	protocol_send(actor->peer, PROTOCOL_WELCOME, &actor->welcome,
		      sizeof(actor->welcome), NULL, 0);
}

static void *serve(void *context)
{
	struct actor *actor = context;

	actor->script(actor);
	return NULL;
}

void actor_play(struct actor *actor, void (*script)(struct actor *))
{
	actor->script = script;
	assert_int_equal(pthread_create(&actor->thread, NULL, serve, actor), 0);
}

void actor_start(struct actor *actor)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", actor->path);
	unlink(actor->path);
	actor->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(actor->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(actor->listener, 5), 0);
	actor_play(actor, actor->script);
}

void actor_join(struct actor *actor)
{
	assert_int_equal(pthread_join(actor->thread, NULL), 0);
}

void actor_die(struct actor *actor)
{
	if (actor->peer >= 0)
		close(actor->peer);
	close(actor->listener);
	unlink(actor->path);
	actor->peer = -1;
}

void actor_end(struct actor *actor)
{
	actor_die(actor);
	bcast_close(actor->ring);
}

unsigned char actor_pixel(uint32_t sample, size_t at)
{
	return (unsigned char)(sample * 31 + at);
}

bool actor_put(struct actor *actor, uint32_t first, uint32_t count, uint32_t holes)
{
	struct batch_sink *sink = bcast_sink(actor->ring);
	struct batch_sink_sample list[ACTOR_PIECE] = {{0}};
	const struct batch_sink_batch batch = {.count = count + holes, .good = count};

	if (!sink->ops->reserve(sink, 0, count + holes, false))
		return false;
	for (uint32_t i = 0; i < count + holes; i++) {
		unsigned char *to = sink->ops->sample(sink, 0, i);

		for (size_t at = 0; i < count && at < ACTOR_BYTES; at++)
			to[at] = actor_pixel(first + i, at);
		list[i] = (struct batch_sink_sample){
			first + i, (first + i) % ACTOR_NAMES, UINT64_MAX, i >= count};
	}
	sink->ops->publish(sink, 0, &batch, list);
	return true;
}

void actor_put_all(struct actor *actor, uint32_t first, uint32_t end_at)
{
	for (; first < end_at; first += ACTOR_PIECE)
		assert_true(actor_put(actor, first, ACTOR_PIECE, 0));
}
