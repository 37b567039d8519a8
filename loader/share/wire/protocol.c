/*
 * protocol.c - messages on a stream socket.
 *
 * A receive never reads beyond the message that it is at: descriptors that come with a
 * read then belong to that message.
 */
#include "loader/share/wire/protocol.h"
#include "loader/base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD = sizeof(struct protocol_head), FULL = HEAD + PROTOCOL_MOST };

_Static_assert(sizeof(struct protocol_hello) <= PROTOCOL_MOST &&
		       sizeof(struct protocol_welcome) <= PROTOCOL_MOST,
	       "every message fits an inbox");

size_t protocol_bytes(enum protocol_type type)
{
	static const size_t bytes[PROTOCOL_TYPES] = {
		[PROTOCOL_HELLO] = sizeof(struct protocol_hello),
		[PROTOCOL_WELCOME] = sizeof(struct protocol_welcome),
		[PROTOCOL_REFUSED] = sizeof(struct protocol_refused),
	};

	if (type == PROTOCOL_WAIT)
		return 0;
	if (type >= PROTOCOL_TYPES || bytes[type] == 0)
		return SIZE_MAX;
	return bytes[type];
}

/* ---- out ---- */

static void protocol_attach(struct msghdr *message, struct cmsghdr *control,
			    const int *fds, unsigned count)
{
	if (count == 0)
		return;
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(count * sizeof(int));
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(control), fds, count * sizeof(int));
}

/* Moves the message's vectors past what was sent. False: nothing is left. */
static bool protocol_advance(struct msghdr *message, size_t sent)
{
	message->msg_control = NULL; /* they went with the first byte */
	message->msg_controllen = 0;
	while (message->msg_iovlen > 0 && sent >= message->msg_iov->iov_len) {
		sent -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (message->msg_iovlen == 0)
		return false;
	message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
	message->msg_iov->iov_len -= sent;
	return true;
}

static int protocol_send_all(int socket, struct msghdr *message)
{
	ssize_t sent;

	do {
		do
			sent = sendmsg(socket, message, MSG_NOSIGNAL);
		while (sent < 0 && errno == EINTR);
		if (sent < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
	} while (protocol_advance(message, (size_t)sent));
	return 0;
}

int protocol_send(int socket, enum protocol_type type, const void *body, size_t bytes,
		  const int *fds, unsigned fd_count)
{
	struct protocol_head head = {PROTOCOL_MAGIC, type, (uint32_t)bytes, 0};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(PROTOCOL_FDS * sizeof(int))];
	} control = {0};
	/* sendmsg() takes, and does not write to, what lies behind an iovec. */
	union {
		const void *in;
		void *out;
	} from = {body};
	struct iovec parts[] = {{&head, sizeof(head)}, {from.out, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (bytes > PROTOCOL_STATUS_MOST || fd_count > PROTOCOL_FDS)
		return -EMSGSIZE;
	protocol_attach(&message, &control.align, fds, fd_count);
	return protocol_send_all(socket, &message);
}

/* ---- in ---- */

static void protocol_close_fds(struct protocol_inbox *inbox)
{
	for (unsigned i = 0; i < inbox->fd_count; i++)
		close(inbox->fds[i]);
	inbox->fd_count = 0;
}

void protocol_inbox_init(struct protocol_inbox *inbox)
{
	inbox->have = 0;
	inbox->fd_count = 0;
}

void protocol_inbox_fini(struct protocol_inbox *inbox)
{
	protocol_close_fds(inbox);
}

void protocol_next(struct protocol_inbox *inbox)
{
	protocol_close_fds(inbox);
	inbox->have = 0;
}

static struct protocol_head protocol_head_of(const struct protocol_inbox *inbox)
{
	struct protocol_head head = {0};

	memcpy(&head, inbox->bytes, inbox->have < HEAD ? inbox->have : HEAD);
	return head;
}

static bool protocol_is_http(const struct protocol_inbox *inbox)
{
	return inbox->have >= sizeof(uint32_t) &&
	       protocol_head_of(inbox).magic == PROTOCOL_HTTP;
}

static bool protocol_head_fits(const struct protocol_head *head)
{
	size_t bytes = protocol_bytes(head->type);

	if (head->type == PROTOCOL_STATUS)
		return head->bytes <= PROTOCOL_MOST && head->reserved == 0;
	return bytes != SIZE_MAX && head->bytes == bytes && head->reserved == 0;
}

/* The texts within messages. */
static const struct {
	enum protocol_type type;
	size_t offset, room;
} texts[] = {
#define TEXT(type, name, member)                                                       \
	{                                                                              \
		PROTOCOL_##type, offsetof(struct protocol_##name, member),             \
			sizeof(((struct protocol_##name *)NULL)->member)               \
	}
	TEXT(HELLO, hello, prep),        TEXT(HELLO, hello, dataset),
	TEXT(HELLO, hello, job),         TEXT(WELCOME, welcome, output),
	TEXT(WELCOME, welcome, dataset), TEXT(REFUSED, refused, why),
};

static bool protocol_texts_end(const struct protocol_inbox *inbox,
			       enum protocol_type type)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].type == type &&
		    memchr(inbox->bytes + HEAD + texts[i].offset, 0, texts[i].room) ==
			    NULL)
			return false;
	return true;
}

/* As protocol_receive(), of what there is; *wanted: bytes that it is to have. */
static int protocol_look_at_message(struct protocol_inbox *inbox, size_t *wanted)
{
	struct protocol_head head = protocol_head_of(inbox);

	*wanted = HEAD;
	if (inbox->have >= sizeof(head.magic) && head.magic != PROTOCOL_MAGIC)
		return -EPROTO;
	if (inbox->have < HEAD)
		return 0;
	if (!protocol_head_fits(&head))
		return -EPROTO;
	*wanted = HEAD + head.bytes;
	if (inbox->have < *wanted)
		return 0;
	inbox->bytes[inbox->have] = '\0';
	return protocol_texts_end(inbox, head.type) ? 1 : -EPROTO;
}

static int protocol_look_at_http(struct protocol_inbox *inbox, size_t *wanted)
{
	const char *text = (const char *)inbox->bytes;

	*wanted = FULL;
	inbox->bytes[inbox->have] = '\0';
	if (strstr(text, "\r\n\r\n") != NULL || strstr(text, "\n\n") != NULL)
		return 1;
	return inbox->have < FULL ? 0 : -EPROTO;
}

static int protocol_look(struct protocol_inbox *inbox, size_t *wanted)
{
	return protocol_is_http(inbox) ? protocol_look_at_http(inbox, wanted)
				       : protocol_look_at_message(inbox, wanted);
}

/* Keeps the descriptors of one control message. False: there are too many. */
static bool protocol_keep_fds(struct protocol_inbox *inbox,
			      const struct cmsghdr *control)
{
	const unsigned char *at = CMSG_DATA(control);
	bool fit = true;

	for (size_t left = control->cmsg_len - CMSG_LEN(0); left >= sizeof(int);
	     left -= sizeof(int), at += sizeof(int)) {
		int fd;

		memcpy(&fd, at, sizeof(fd));
		fit = inbox->fd_count < PROTOCOL_FDS;
		if (fit)
			inbox->fds[inbox->fd_count++] = fd;
		else
			close(fd);
	}
	return fit;
}

/* Reads up to `wanted` bytes. How many came, or -errno. */
static ssize_t protocol_receive_bytes(int socket, struct protocol_inbox *inbox,
				      size_t wanted, int flags)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(PROTOCOL_FDS * sizeof(int))];
	} control;
	struct iovec part = {inbox->bytes + inbox->have, wanted - inbox->have};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	bool fit = true;
	ssize_t got;

	do
		got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL;
	     at = CMSG_NXTHDR(&message, at))
		if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS)
			fit = protocol_keep_fds(inbox, at) && fit;
	if (!fit || (message.msg_flags & MSG_CTRUNC) != 0)
		return -EPROTO;
	return got > 0 ? got : -EPIPE;
}

int protocol_receive(int socket, struct protocol_inbox *inbox, int flags)
{
	size_t wanted;
	int whole;

	while ((whole = protocol_look(inbox, &wanted)) == 0) {
		ssize_t got = protocol_receive_bytes(socket, inbox, wanted, flags);

		if (got == -EAGAIN)
			return 0;
		if (got < 0)
			return (int)got;
		inbox->have += (size_t)got;
	}
	return whole;
}

enum protocol_type protocol_type(const struct protocol_inbox *inbox)
{
	return protocol_is_http(inbox)
		       ? PROTOCOL_HTTP
		       : (enum protocol_type)protocol_head_of(inbox).type;
}

const void *protocol_body(const struct protocol_inbox *inbox)
{
	return protocol_is_http(inbox) ? inbox->bytes : inbox->bytes + HEAD;
}

int protocol_take_fd(struct protocol_inbox *inbox)
{
	int fd;

	if (inbox->fd_count == 0)
		return -1;
	fd = inbox->fds[0];
	inbox->fd_count--;
	memmove(inbox->fds, inbox->fds + 1, inbox->fd_count * sizeof(inbox->fds[0]));
	return fd;
}

/* ---- the status ---- */

static int protocol_receive_all(int socket, void *to, size_t bytes)
{
	int result = io_read(socket, to, bytes);

	return result == -EIO || result == -ECONNRESET ? -EPIPE : result;
}

static int protocol_receive_status(int socket, size_t bytes, char **text)
{
	int rc;

	*text = malloc(bytes + 1);
	if (*text == NULL)
		return -ENOMEM;
	(*text)[bytes] = '\0';
	rc = protocol_receive_all(socket, *text, bytes);
	if (rc < 0) {
		free(*text);
		*text = NULL;
	}
	return rc;
}

int protocol_ask_status(int socket, char **text)
{
	struct protocol_head head;
	int rc = protocol_send(socket, PROTOCOL_STATUS, NULL, 0, NULL, 0);

	if (rc == 0)
		rc = protocol_receive_all(socket, &head, sizeof(head));
	if (rc < 0)
		return rc;
	if (head.magic != PROTOCOL_MAGIC || head.type != PROTOCOL_STATUS ||
	    head.bytes > PROTOCOL_STATUS_MOST)
		return -EPROTO;
	return protocol_receive_status(socket, head.bytes, text);
}
