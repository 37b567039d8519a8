/* reactor.c - epoll and two eventfds. */
#include "loader/share/server/reactor.h"
#include "loader/base/error.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int reactor_open(struct reactor *reactor, struct error *err)
{
	reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
	reactor->notify = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	reactor->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reactor->epoll < 0 || reactor->notify < 0 || reactor->stop < 0 ||
	    reactor_watch(reactor, reactor->notify, EVENT_NOTIFY, 0) < 0 ||
	    reactor_watch(reactor, reactor->stop, EVENT_STOP, 0) < 0)
		return error_sys(err, errno, "cannot open the shared loader");
	return 0;
}

void reactor_close(const struct reactor *reactor)
{
	const int fds[] = {reactor->stop, reactor->notify, reactor->epoll};

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int reactor_watch(const struct reactor *reactor, int fd, enum event event,
		  uint64_t word)
{
	struct epoll_event wanted = {.events = EPOLLIN,
				     .data.u64 = (uint64_t)event << 56 | word};

	return epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, fd, &wanted) == 0 ? 0 : -errno;
}

void reactor_forget(const struct reactor *reactor, int fd)
{
	epoll_ctl(reactor->epoll, EPOLL_CTL_DEL, fd, NULL);
}

int reactor_wait(const struct reactor *reactor, struct epoll_event *events, int most,
		 int timeout)
{
	return epoll_wait(reactor->epoll, events, most, timeout);
}

static void reactor_wake(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one)); /* full: it is to be read already */
}

void reactor_notify(const struct reactor *reactor)
{
	reactor_wake(reactor->notify);
}

void reactor_stop(const struct reactor *reactor)
{
	reactor_wake(reactor->stop);
}

void reactor_drain(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count)); /* 0 of it is as good */
}
