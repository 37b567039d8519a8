/* reactor.h - what the server's thread waits for. Private to loader/share/. */
#ifndef DSA_SHARE_REACTOR_H
#define DSA_SHARE_REACTOR_H

#include <stdint.h>

struct epoll_event;
struct error;

/* What an event is about. */
enum event {
	EVENT_CONNECT,
	EVENT_STOP,
	EVENT_NOTIFY, /* the stream came further, or may go on */
	EVENT_PEER,
	EVENT_DEATH,
	EVENT_ROOM
};

struct reactor {
	int epoll, stop, notify; /* -1: none */
};

/* 0 or -errno; either way to be closed. */
int reactor_open(struct reactor *reactor, struct error *err);
void reactor_close(const struct reactor *reactor);

/* Waits for fd to be readable. word: what else is known of it, 56 bits. 0 or -errno. */
int reactor_watch(const struct reactor *reactor, int fd, enum event event,
		  uint64_t word);
void reactor_forget(const struct reactor *reactor, int fd);

/* Events that came; timeout: ms, -1: none. */
int reactor_wait(const struct reactor *reactor, struct epoll_event *events, int most,
		 int timeout);

/* Any thread. */
void reactor_notify(const struct reactor *reactor);
void reactor_stop(const struct reactor *reactor);

/* Empties an eventfd. */
void reactor_drain(int fd);

#endif
