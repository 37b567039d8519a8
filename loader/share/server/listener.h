/* listener.h - the Unix socket of a shared loader. Private to loader/share/. */
#ifndef DSA_SHARE_LISTENER_H
#define DSA_SHARE_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

struct error;

struct listener {
	int fd, spare; /* spare: closed to be able to refuse when descriptors run out */
	struct sockaddr_un address;
	dev_t device; /* of the socket that was made: */
	ino_t inode;
};

int listener_open(struct listener *listener, const char *path, struct error *err);
void listener_close(struct listener *listener);

/* The next connection; -1: none waits. refused: there was one, and no descriptor. */
int listener_accept(struct listener *listener, bool *refused);

#endif
