/* s3_connection.c - requests in, answers out when their time has come. */
#include "tests/tool/s3/s3_connection.h"
#include "loader/base/clock.h"
#include "loader/base/throttle.h"
#include "tests/lib/http_request.h"
#include "tests/tool/s3/s3_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

struct s3_connection {
	struct s3_host *host;
	int fd;
	unsigned number;
	enum { READS, WAITS, SENDS, ENDS } state;
	char in[HTTP_HEAD];
	size_t have; /* bytes in it */

	/* The request that is being answered, which points into `in`. */
	struct http_request request;
	size_t head; /* its bytes there */
	struct s3_answer answer;
	uint64_t arrived;
	bool silent; /* nothing is sent, not even a head */
	size_t sent_head;
	uint64_t sent, stop; /* bytes of the body; where it ends, maybe early */
	uint64_t allowed;    /* that may be sent now */
	uint64_t due;        /* of WAITS */
	bool queued;
	TAILQ_ENTRY(s3_connection) waiting;
	LIST_ENTRY(s3_connection) all;
};

static int connection_key_length(const char **id)
{
	const char *at = *id != NULL ? strstr(*id, "Credential=") : NULL;

	*id = *id == NULL ? "-" : at != NULL ? at + strlen("Credential=") : "?";
	return (int)strcspn(*id, "/");
}

static void connection_log(const struct s3_connection *this, bool gone)
{
	const struct s3_answer *answer = &this->answer;
	const char *range = http_field(&this->request.header, "range");
	const char *id = http_field(&this->request.header, "authorization");
	int length = connection_key_length(&id);

	if (this->host->log == NULL)
		return;
	fprintf(this->host->log, "%.6f\t%u\t%s\t%s\t%s\t%u\t%llu\t%.*s\t%s\n",
		(double)(this->arrived - this->host->began) * 1e-9, this->number,
		this->request.method, this->request.target, range != NULL ? range : "-",
		this->sent_head > 0 ? answer->status : 0,
		(unsigned long long)this->sent, length, id,
		gone ? "gone" : s3_fault_name(answer->drawn.fault));
}

static void connection_queue(struct s3_connection *this)
{
	struct s3_host *host = this->host;
	struct s3_connection *before = TAILQ_LAST(&host->waiting, s3_waiting);

	if (this->queued)
		return;
	while (before != NULL && before->due > this->due)
		before = TAILQ_PREV(before, s3_waiting, waiting);
	if (before != NULL)
		TAILQ_INSERT_AFTER(&host->waiting, before, this, waiting);
	else
		TAILQ_INSERT_HEAD(&host->waiting, this, waiting);
	this->queued = true;
}

static void connection_unqueue(struct s3_connection *this)
{
	if (this->queued)
		TAILQ_REMOVE(&this->host->waiting, this, waiting);
	this->queued = false;
}

static void connection_close(struct s3_connection *this, bool gone)
{
	if (this->state == WAITS || this->state == SENDS)
		connection_log(this, gone);
	s3_answer_fini(&this->answer);
	connection_unqueue(this);
	LIST_REMOVE(this, all);
	close(this->fd);
	free(this);
}

/* Where faults end the body. */
static void connection_plan(struct s3_connection *this)
{
	const struct s3_answer *answer = &this->answer;
	double length = (double)answer->length, where = answer->drawn.where;

	this->stop = answer->length;
	this->silent = answer->drawn.fault == S3_FAULT_RESET && where < .5;
	if (answer->drawn.fault == S3_FAULT_TRUNCATE)
		this->stop = (uint64_t)(where * length);
	if (answer->drawn.fault == S3_FAULT_RESET)
		this->stop = this->silent ? 0 : (uint64_t)((2 * where - 1) * length);
}

/* Counts a request: the server may pause now, or die. */
static void connection_count(struct s3_host *host)
{
	host->requests++;
	if (host->requests == host->pause_after)
		host->paused_until = clock_now() + (uint64_t)(host->pause_s * 1e9);
	if (host->requests == host->die_after)
		host->ended = true;
}

/* When the answer may begin. */
static uint64_t connection_due(const struct s3_connection *this)
{
	const struct s3_host *host = this->host;
	uint64_t due = this->arrived + (uint64_t)(this->answer.drawn.wait_s * 1e9);

	if (host->ended)
		return UINT64_MAX;
	return due > host->paused_until ? due : host->paused_until;
}

/* The head is complete. */
static void connection_begin(struct s3_connection *this)
{
	struct s3_host *host = this->host;
	bool good;

	this->in[this->head - 2] = 0;
	good = http_request_parse(this->in, &this->request);
	if (!good)
		this->request.method = this->request.target = "-";
	this->arrived = clock_now();
	this->sent_head = 0;
	this->sent = this->allowed = 0;
	connection_count(host);
	s3_answer_make(host->store, good ? &this->request : NULL, &this->answer);
	connection_plan(this);
	this->due = connection_due(this);
	this->state = WAITS;
}

/* Each of these returns whether the next one can go on at once. */

static bool connection_read(struct s3_connection *this)
{
	const char *end = memmem(this->in, this->have, "\r\n\r\n", 4);
	ssize_t size;

	if (end != NULL) {
		this->head = (size_t)(end - this->in) + 4;
		connection_begin(this);
		return true;
	}
	size = recv(this->fd, this->in + this->have, sizeof(this->in) - this->have, 0);
	if (size > 0)
		this->have += (size_t)size;
	else if (size == 0 || errno != EAGAIN)
		this->state = ENDS;
	return size > 0;
}

static bool connection_wait(struct s3_connection *this)
{
	if (clock_now() < this->due) {
		connection_queue(this);
		return false;
	}
	connection_unqueue(this);
	this->state = SENDS;
	return true;
}

/* After a send: what did not fit follows when there is room. */
static bool connection_sent(struct s3_connection *this, ssize_t size)
{
	if (size > 0)
		return true;
	if (size == 0 || errno != EAGAIN) {
		connection_log(this, true);
		this->state = ENDS;
	}
	return false;
}

static bool connection_send_head(struct s3_connection *this)
{
	const struct s3_answer *answer = &this->answer;
	bool follows = this->stop > 0 && this->host->link == NULL &&
		       answer->drawn.fault != S3_FAULT_TRICKLE; /* the body, at once */
	int flags = MSG_NOSIGNAL | (follows ? MSG_MORE : 0);
	ssize_t size = send(this->fd, answer->head + this->sent_head,
			    answer->head_size - this->sent_head, flags);

	if (size > 0)
		this->sent_head += (size_t)size;
	return connection_sent(this, size);
}

static bool connection_send_body(struct s3_connection *this)
{
	const struct s3_answer *answer = &this->answer;
	off_t at = (off_t)(answer->from + this->sent);
	ssize_t size =
		answer->text != NULL
			? send(this->fd, answer->text + at, this->allowed, MSG_NOSIGNAL)
			: sendfile(this->fd, answer->file, &at, this->allowed);

	if (size > 0) {
		this->sent += (uint64_t)size;
		this->allowed -= (uint64_t)size;
	}
	return connection_sent(this, size);
}

/* Takes the next piece of the body, and waits until it may be sent. */
static void connection_allow(struct s3_connection *this)
{
	struct s3_host *host = this->host;
	uint64_t left = this->stop - this->sent, now = clock_now();

	this->allowed = left;
	if (this->answer.drawn.fault == S3_FAULT_TRICKLE) {
		this->allowed = 1;
		this->due = now + 1000000000u;
		this->state = WAITS;
	} else if (host->link != NULL) {
		this->allowed = left < host->piece ? left : host->piece;
		this->due = throttle_release(host->link, now, this->allowed);
		this->state = WAITS;
	}
}

/* The answer is complete, or as complete as its fault wants it. */
static void connection_finish(struct s3_connection *this)
{
	const struct linger now = {.l_onoff = 1};
	enum s3_fault fault = this->answer.drawn.fault;
	bool ends = this->answer.closes || fault == S3_FAULT_TRUNCATE;

	if (fault == S3_FAULT_RESET) {
		setsockopt(this->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		ends = true;
	}
	connection_log(this, false);
	s3_answer_fini(&this->answer);
	this->have -= this->head;
	memmove(this->in, this->in + this->head, this->have);
	this->state = ends ? ENDS : READS;
}

static bool connection_send(struct s3_connection *this)
{
	if (!this->silent && this->sent_head < this->answer.head_size)
		return connection_send_head(this);
	if (this->sent == this->stop)
		connection_finish(this);
	else if (this->allowed > 0)
		return connection_send_body(this);
	else
		connection_allow(this);
	return true;
}

static bool connection_end(struct s3_connection *this)
{
	(void)this;
	return false;
}

static void connection_run(struct s3_connection *this)
{
	static bool (*const turns[])(struct s3_connection *) = {
		[READS] = connection_read,
		[WAITS] = connection_wait,
		[SENDS] = connection_send,
		[ENDS] = connection_end};

	while (turns[this->state](this))
		;
	if (this->state == ENDS)
		connection_close(this, false);
}

void s3_connection_open(struct s3_host *host, int fd)
{
	struct s3_connection *this = calloc(1, sizeof(*this));
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				    .data.ptr = this};

	if (this == NULL || epoll_ctl(host->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		free(this);
		close(fd);
		return;
	}
	this->host = host;
	this->fd = fd;
	this->number = ++host->connections;
	this->answer.file = -1;
	LIST_INSERT_HEAD(&host->all, this, all);
}

void s3_connection_event(struct s3_connection *this, uint32_t events)
{
	if (this->state != READS && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
		connection_close(this, true);
	else
		connection_run(this);
}

uint64_t s3_host_wake(struct s3_host *host)
{
	struct s3_connection *first;

	while ((first = TAILQ_FIRST(&host->waiting)) != NULL &&
	       first->due <= clock_now())
		connection_run(first);
	return first != NULL ? first->due : 0;
}

void s3_host_end(struct s3_host *host)
{
	struct s3_connection *this;

	while ((this = LIST_FIRST(&host->all)) != NULL)
		connection_close(this, true);
}
