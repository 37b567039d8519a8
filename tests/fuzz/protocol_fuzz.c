/*
 * protocol_fuzz.c - whatever somebody sends to the socket of a shared loader.
 *
 * The input is a row of pieces: one byte of length and of descriptors (the two highest
 * bits), then the bytes, which are sent at once.
 */
#include "loader/base/error.h"
#include "loader/share/wire/join_request.h"
#include "loader/share/wire/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
	if (memchr(text, 0, room) == NULL)
		abort();
}

static void check(const struct protocol_inbox *inbox)
{
	const struct protocol_hello *hello = protocol_body(inbox);
	const struct protocol_refused *refused = protocol_body(inbox);
	struct error err;

	switch (protocol_type(inbox)) {
	case PROTOCOL_HELLO:
		check_text(hello->prep, sizeof(hello->prep));
		check_text(hello->dataset, sizeof(hello->dataset));
		check_text(hello->job, sizeof(hello->job));
		if (join_request_fits(hello, "", 0, &err) > 0)
			abort();
		break;
	case PROTOCOL_REFUSED:
		check_text(refused->why, sizeof(refused->why));
		break;
	case PROTOCOL_STATUS:
	case PROTOCOL_HTTP:
		check_text(protocol_body(inbox), PROTOCOL_MOST + 1);
		break;
	default:
		if (protocol_bytes(protocol_type(inbox)) > PROTOCOL_MOST)
			abort();
	}
}

/* Sends a piece with `count` descriptors. */
static void send_piece(int socket, const uint8_t *bytes, size_t size, unsigned count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(3 * sizeof(int))];
	} control = {.align = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	const int fds[3] = {socket, socket, socket};
	uint8_t copy[64];
	struct iovec part = {copy, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(copy, bytes, size);
	if (count > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.align.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		abort();
}

static int receive_all(int socket, struct protocol_inbox *inbox)
{
	int rc;

	while ((rc = protocol_receive(socket, inbox, MSG_DONTWAIT)) == 1) {
		check(inbox);
		if (protocol_type(inbox) == PROTOCOL_REFUSED)
			close(protocol_take_fd(inbox));
		protocol_next(inbox);
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct protocol_inbox inbox;
	int pair[2], rc = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 0;
	protocol_inbox_init(&inbox);
	while (rc == 0 && size > 1) {
		size_t length = data[0] & 0x3f;

		if (length == 0 || length > size - 1)
			length = size - 1 < 63 ? size - 1 : 63;
		send_piece(pair[0], data + 1, length, data[0] >> 6);
		data += length + 1;
		size -= length + 1;
		rc = receive_all(pair[1], &inbox);
	}
	protocol_inbox_fini(&inbox);
	close(pair[0]);
	close(pair[1]);
	/* Whatever came with descriptors, none is left. */
	rc = dup(STDERR_FILENO);
	if (rc > 64)
		abort();
	close(rc);
	return 0;
}
