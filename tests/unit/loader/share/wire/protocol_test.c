/* protocol_test.c - messages come whole, in order, with their descriptors, or not at all. */
#include "loader/share/wire/protocol.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct pair {
	int a, b; /* what is sent to a is received from b */
	struct protocol_inbox inbox;
};

static int set_up(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int ends[2];

	if (pair == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	*pair = (struct pair){.a = ends[0], .b = ends[1]};
	protocol_inbox_init(&pair->inbox);
	*state = pair;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	protocol_inbox_fini(&pair->inbox);
	if (pair->a >= 0)
		close(pair->a);
	close(pair->b);
	free(pair);
	return 0;
}

static int receive(struct pair *pair)
{
	return protocol_receive(pair->b, &pair->inbox, MSG_DONTWAIT);
}

static void put(struct pair *pair, const void *bytes, size_t count)
{
	assert_int_equal(send(pair->a, bytes, count, 0), count);
}

/* Lowest number that is not open: grows with each descriptor that leaks. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static struct protocol_hello hello(const char *job)
{
	struct protocol_hello message = {.version = PROTOCOL_VERSION, .batch = 64};

	strcpy(message.job, job);
	strcpy(message.dataset, "/data/images");
	return message;
}

static void send_hello(struct pair *pair, const char *job, const int *fds,
		       unsigned count)
{
	struct protocol_hello message = hello(job);

	assert_int_equal(protocol_send(pair->a, PROTOCOL_HELLO, &message,
				       sizeof(message), fds, count),
			 0);
}

static void expect_hello(struct pair *pair, const char *job)
{
	const struct protocol_hello *message = protocol_body(&pair->inbox);

	assert_int_equal(protocol_type(&pair->inbox), PROTOCOL_HELLO);
	assert_string_equal(message->job, job);
	assert_string_equal(message->dataset, "/data/images");
	assert_int_equal(message->batch, 64);
}

TEST_WITH(several_messages_come_one_by_one, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_refused refused = {"not today"};
	const struct protocol_refused *got;

	send_hello(pair, "first", NULL, 0);
	send_hello(pair, "second", NULL, 0);
	protocol_send(pair->a, PROTOCOL_REFUSED, &refused, sizeof(refused), NULL, 0);
	protocol_send(pair->a, PROTOCOL_WAIT, NULL, 0, NULL, 0);
	assert_int_equal(receive(pair), 1);
	assert_int_equal(receive(pair), 1); /* it is there yet */
	expect_hello(pair, "first");
	protocol_next(&pair->inbox);
	assert_int_equal(receive(pair), 1);
	expect_hello(pair, "second");
	protocol_next(&pair->inbox);
	assert_int_equal(receive(pair), 1);
	got = protocol_body(&pair->inbox);
	assert_string_equal(got->why, "not today");
	protocol_next(&pair->inbox);
	assert_int_equal(receive(pair), 1);
	assert_int_equal(protocol_type(&pair->inbox), PROTOCOL_WAIT);
	protocol_next(&pair->inbox);
	assert_int_equal(receive(pair), 0);
}

TEST_WITH(a_message_may_come_in_pieces, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_hello body = hello("pieces");
	struct protocol_head head = {PROTOCOL_MAGIC, PROTOCOL_HELLO, sizeof(body), 0};
	unsigned char bytes[sizeof(head) + sizeof(body)];

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &body, sizeof(body));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(receive(pair), 0);
		put(pair, bytes + i, 1);
	}
	assert_int_equal(receive(pair), 1);
	expect_hello(pair, "pieces");
}

/* A descriptor is known by what is read from it. */
static int pipe_of(char letter)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], &letter, 1), 1);
	close(ends[1]);
	return ends[0];
}

static void expect_letter(struct pair *pair, char letter)
{
	int fd = protocol_take_fd(&pair->inbox);
	char got = 0;

	assert_int_equal(read(fd, &got, 1), 1);
	assert_int_equal(got, letter);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
}

static void send_letters(struct pair *pair, const char *letters)
{
	unsigned count = (unsigned)strlen(letters);
	int fds[PROTOCOL_FDS] = {0};

	for (unsigned i = 0; i < count; i++)
		fds[i] = pipe_of(letters[i]);
	send_hello(pair, letters, fds, count);
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

TEST_WITH(descriptors_come_with_their_message, set_up, tear_down)
{
	struct pair *pair = *state;
	int before = next_fd();

	send_letters(pair, "abcd");
	send_letters(pair, "");
	send_letters(pair, "ef");
	assert_int_equal(receive(pair), 1);
	expect_letter(pair, 'a');
	expect_letter(pair, 'b');
	protocol_next(&pair->inbox); /* c and d are not wanted */
	assert_int_equal(next_fd(), before);
	assert_int_equal(receive(pair), 1);
	assert_int_equal(protocol_take_fd(&pair->inbox), -1);
	protocol_next(&pair->inbox);
	assert_int_equal(receive(pair), 1);
	expect_letter(pair, 'e');
	protocol_inbox_fini(&pair->inbox);
	protocol_inbox_init(&pair->inbox);
	assert_int_equal(next_fd(), before);
}

/* One message that claims to be of `bytes`, with so many descriptors a byte. */
static void send_many_fds(struct pair *pair, unsigned a_byte)
{
	struct protocol_head head = {PROTOCOL_MAGIC, PROTOCOL_REFUSED,
				     sizeof(struct protocol_refused), 0};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(64 * sizeof(int))];
	} control = {0};
	int fds[64] = {0};

	for (unsigned i = 0; i < a_byte; i++)
		fds[i] = STDERR_FILENO;
	for (size_t i = 0; i < sizeof(head); i++) {
		struct iovec part = {(char *)&head + i, 1};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = &control,
					 .msg_controllen =
						 CMSG_SPACE(a_byte * sizeof(int))};

		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(a_byte * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, a_byte * sizeof(int));
		assert_int_equal(sendmsg(pair->a, &message, 0), 1);
	}
}

TEST_WITH(too_many_descriptors_are_refused, set_up, tear_down)
{
	static const unsigned many[] = {1, 3, 5, 64};
	struct pair *pair = *state;
	int before = next_fd();

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		struct protocol_inbox *inbox = &pair->inbox;
		int ends[2];

		send_many_fds(pair, many[i]);
		assert_int_equal(receive(pair), -EPROTO);
		protocol_inbox_fini(inbox);
		close(pair->a);
		close(pair->b);
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		pair->a = ends[0];
		pair->b = ends[1];
		protocol_inbox_init(inbox);
		assert_int_equal(next_fd(), before);
	}
}

TEST_WITH(what_is_no_message_is_refused, set_up, tear_down)
{
	static const struct protocol_head bad[] = {
		{PROTOCOL_MAGIC + 1, PROTOCOL_REFUSED, sizeof(struct protocol_refused),
		 0},
		{PROTOCOL_MAGIC, 0, 0, 0},
		{PROTOCOL_MAGIC, PROTOCOL_TYPES, 0, 0},
		{PROTOCOL_MAGIC, PROTOCOL_HTTP, 0, 0},
		{PROTOCOL_MAGIC, UINT32_MAX, 0, 0},
		{PROTOCOL_MAGIC, PROTOCOL_REFUSED, sizeof(struct protocol_refused) - 1,
		 0},
		{PROTOCOL_MAGIC, PROTOCOL_REFUSED, sizeof(struct protocol_refused) + 1,
		 0},
		{PROTOCOL_MAGIC, PROTOCOL_STATUS, PROTOCOL_MOST + 1, 0},
		{PROTOCOL_MAGIC, PROTOCOL_HELLO, UINT32_MAX, 0},
		{PROTOCOL_MAGIC, PROTOCOL_REFUSED, sizeof(struct protocol_refused), 1},
	};
	struct pair *pair = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char drain[sizeof(bad[0])];

		put(pair, &bad[i], sizeof(bad[i]));
		assert_int_equal(receive(pair), -EPROTO);
		protocol_next(&pair->inbox);
		while (recv(pair->b, drain, sizeof(drain), MSG_DONTWAIT) > 0)
			;
	}
	put(pair, "GIT /", 5);
	assert_int_equal(receive(pair), -EPROTO);
}

TEST_WITH(a_text_without_an_end_is_refused, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_hello body = hello("");

	memset(body.job, 'x', sizeof(body.job));
	protocol_send(pair->a, PROTOCOL_HELLO, &body, sizeof(body), NULL, 0);
	assert_int_equal(receive(pair), -EPROTO);
}

TEST_WITH(a_text_of_any_length_is_ended, set_up, tear_down)
{
	struct pair *pair = *state;
	char text[PROTOCOL_MOST];

	memset(text, 'y', sizeof(text));
	for (size_t length = sizeof(text); length > 0; length /= 2) {
		assert_int_equal(
			protocol_send(pair->a, PROTOCOL_STATUS, text, length, NULL, 0),
			0);
		assert_int_equal(receive(pair), 1);
		assert_int_equal(protocol_type(&pair->inbox), PROTOCOL_STATUS);
		assert_int_equal(strlen(protocol_body(&pair->inbox)), length);
		protocol_next(&pair->inbox);
	}
}

TEST_WITH(an_http_request_ends_with_an_empty_line, set_up, tear_down)
{
	static const char *const requests[] = {
		"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n", "GET /\n\n"};
	struct pair *pair = *state;
	char endless[PROTOCOL_MOST + sizeof(struct protocol_head)];

	for (size_t i = 0; i < 2; i++) {
		for (const char *at = requests[i]; *at != '\0'; at++) {
			assert_int_equal(receive(pair), 0);
			put(pair, at, 1);
		}
		assert_int_equal(receive(pair), 1);
		assert_int_equal(protocol_type(&pair->inbox), PROTOCOL_HTTP);
		assert_string_equal(protocol_body(&pair->inbox), requests[i]);
		protocol_next(&pair->inbox);
	}
	memset(endless, 'x', sizeof(endless));
	memcpy(endless, "GET ", 4);
	put(pair, endless, sizeof(endless));
	assert_int_equal(receive(pair), -EPROTO);
}

TEST_WITH(a_peer_that_is_gone_is_told, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_hello body = hello("gone");

	put(pair, "1asd", 2);
	close(pair->a);
	pair->a = -1;
	assert_int_equal(receive(pair), -EPIPE);
	assert_int_equal(
		protocol_send(pair->b, PROTOCOL_HELLO, &body, sizeof(body), NULL, 0),
		-EPIPE);
}

TEST_WITH(a_peer_that_does_not_read_is_told, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_hello body = hello("full");
	int rc = 0;

	fcntl(pair->a, F_SETFL, O_NONBLOCK);
	for (int i = 0; rc == 0 && i < 10000; i++)
		rc = protocol_send(pair->a, PROTOCOL_HELLO, &body, sizeof(body), NULL,
				   0);
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(protocol_send(pair->a, PROTOCOL_STATUS, "",
				       PROTOCOL_STATUS_MOST + 1, NULL, 0),
			 -EMSGSIZE);
}

/* ---- the status ---- */

struct answer {
	int socket;
	struct protocol_head head;
	size_t sent; /* bytes of text */
};

static void *give_answer(void *context)
{
	const struct answer *answer = context;
	struct protocol_inbox inbox;
	char *text = malloc(answer->sent + 1);

	memset(text, 'z', answer->sent);
	protocol_inbox_init(&inbox);
	if (protocol_receive(answer->socket, &inbox, 0) == 1 &&
	    protocol_type(&inbox) == PROTOCOL_STATUS &&
	    send(answer->socket, &answer->head, sizeof(answer->head), 0) > 0)
		for (size_t at = 0; at < answer->sent;) {
			ssize_t sent = send(answer->socket, text + at,
					    answer->sent - at, MSG_NOSIGNAL);

			if (sent < 0)
				break;
			at += (size_t)sent;
		}
	shutdown(answer->socket, SHUT_WR);
	protocol_inbox_fini(&inbox);
	free(text);
	return NULL;
}

static int ask(const struct pair *pair, struct answer answer, char **text)
{
	pthread_t thread;
	int rc;

	answer.socket = pair->b;
	pthread_create(&thread, NULL, give_answer, &answer);
	rc = protocol_ask_status(pair->a, text);
	shutdown(pair->a, SHUT_RD);
	pthread_join(thread, NULL);
	return rc;
}

TEST_WITH(the_status_may_be_long, set_up, tear_down)
{
	const struct answer answer = {
		.head = {PROTOCOL_MAGIC, PROTOCOL_STATUS, PROTOCOL_STATUS_MOST, 0},
		.sent = PROTOCOL_STATUS_MOST};
	char *text = NULL;

	assert_int_equal(ask(*state, answer, &text), 0);
	assert_int_equal(strlen(text), PROTOCOL_STATUS_MOST);
	free(text);
}

TEST_WITH(a_status_that_is_cut_is_told, set_up, tear_down)
{
	const struct answer answer = {.head = {PROTOCOL_MAGIC, PROTOCOL_STATUS, 9, 0},
				      .sent = 8};
	char *text = NULL;

	assert_int_equal(ask(*state, answer, &text), -EPIPE);
	assert_null(text);
}

TEST_WITH(a_status_that_is_none_is_refused, set_up, tear_down)
{
	const struct answer answer = {
		.head = {PROTOCOL_MAGIC, PROTOCOL_STATUS, PROTOCOL_STATUS_MOST + 1, 0}};
	char *text = NULL;

	assert_int_equal(ask(*state, answer, &text), -EPROTO);
	assert_null(text);
}

TEST_WITH(a_status_without_memory_is_told, set_up, tear_down)
{
	struct pair *pair = *state;
	struct protocol_head head = {PROTOCOL_MAGIC, PROTOCOL_STATUS, 4, 0};
	char *text = NULL;
	int rc;

	assert_int_equal(send(pair->b, &head, sizeof(head), 0), sizeof(head));
	nomem_at(1);
	rc = protocol_ask_status(pair->a, &text);
	nomem_at(0);
	assert_int_equal(rc, -ENOMEM);
	assert_null(text);
}
