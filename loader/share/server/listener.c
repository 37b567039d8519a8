/* listener.c - where a shared loader listens, and how it is asked what it does. */
#include "loader/share/server/listener.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/share.h"
#include "loader/share/wire/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 128, ANSWER_S = 10, LOCK_RETRY_NS = 20000000 };
#define LOCK_NS UINT64_C(5000000000)

/* ---- where ---- */

/* A folder that is ours alone. */
static int listener_own_folder(const char *path, struct error *err)
{
	struct stat at;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_sys(err, errno, "cannot make %s", path);
	if (lstat(path, &at) < 0)
		return error_sys(err, errno, "%s", path);
	if (!S_ISDIR(at.st_mode) || at.st_uid != geteuid() || (at.st_mode & 077) != 0)
		return error_set(err, EPERM,
				 "%s is not a folder of yours alone: say where the "
				 "socket is to be",
				 path);
	return 0;
}

int share_socket_path(char *path, size_t bytes, struct error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char folder[32];
	int result, length;

	if (runtime != NULL && *runtime == '/') {
		length = snprintf(path, bytes, "%s/dsa.sock", runtime);
	} else {
		snprintf(folder, sizeof(folder), "/tmp/dsa-%u", (unsigned)geteuid());
		result = listener_own_folder(folder, err);
		if (result < 0)
			return result;
		length = snprintf(path, bytes, "%s/dsa.sock", folder);
	}
	return (size_t)length < bytes
		       ? 0
		       : error_set(err, ENAMETOOLONG, "XDG_RUNTIME_DIR: %s is too long",
				   runtime);
}

static int listener_set_address(struct sockaddr_un *address, const char *path,
				struct error *err)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return error_set(err, ENAMETOOLONG,
				 "a socket's path has at most %zu bytes: %.120s",
				 sizeof(address->sun_path) - 1, path);
	strcpy(address->sun_path, path);
	return 0;
}

/* ---- listening ---- */

/* Whether somebody answers there. *pid: who; 0: nobody knows. */
static bool listener_socket_answers(const struct sockaddr_un *address, pid_t *pid)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);
	bool refused;

	*pid = 0;
	if (fd < 0)
		return true; /* nobody knows */
	refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		  errno == ECONNREFUSED;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0)
		*pid = peer.pid;
	close(fd);
	return !refused;
}

/* Refuses to take the place of anything but a socket at which nobody answers. */
static int listener_check_place(const struct sockaddr_un *address, struct error *err)
{
	const char *path = address->sun_path;
	struct stat at;
	pid_t pid;

	if (lstat(path, &at) < 0)
		return errno == ENOENT
			       ? 0
			       : error_sys(err, errno, "cannot listen at %s", path);
	if (!S_ISSOCK(at.st_mode))
		return error_set(err, EEXIST, "%s is there and is no socket: remove it",
				 path);
	if (listener_socket_answers(address, &pid))
		return error_set(
			err, EADDRINUSE,
			"process %d listens at %s already: --socket says where else",
			(int)pid, path);
	return 0;
}

/* The socket gets its name once it listens: who sees it there may connect. Until then it
 * has one of its own in the folder, told by the folder's descriptor, since a path may have
 * no bytes left. */
static int listener_bind_to(struct listener *listener, int folder, struct error *err)
{
	struct sockaddr_un hidden = {.sun_family = AF_UNIX};
	const char *path = listener->address.sun_path;
	int result = listener_check_place(&listener->address, err);

	if (result < 0)
		return result;
	snprintf(hidden.sun_path, sizeof(hidden.sun_path), "/proc/self/fd/%d/.dsa-%d",
		 folder, (int)getpid());
	unlink(hidden.sun_path); /* what one that was killed left */
	/* What is made takes the mode of this end: nobody can come in between. */
	if (fchmod(listener->fd, 0600) < 0 ||
	    bind(listener->fd, (const struct sockaddr *)&hidden, sizeof(hidden)) < 0)
		return error_sys(err, errno, "cannot listen at %s", path);
	if (listen(listener->fd, BACKLOG) < 0 || rename(hidden.sun_path, path) < 0) {
		result = error_sys(err, errno, "cannot listen at %s", path);
		unlink(hidden.sun_path);
	}
	return result;
}

/* Two loaders that start at once must not both find that nobody answers: the folder is
 * locked meanwhile. */
static int listener_lock_folder(const char *path, struct error *err)
{
	uint64_t limit = clock_now() + LOCK_NS;
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	char *slash;
	int fd;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (slash == NULL)
		strcpy(folder, ".");
	else
		slash[slash == folder] = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, errno, "cannot listen at %s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		uint64_t now = clock_now();

		if (now >= limit) {
			close(fd);
			return error_set(err, EBUSY,
					 "cannot listen at %s: another program keeps "
					 "its folder locked: use another --socket",
					 path);
		}
		clock_sleep_until(now + LOCK_RETRY_NS);
	}
	return fd;
}

static int listener_bind(struct listener *listener, struct error *err)
{
	const char *path = listener->address.sun_path;
	int folder = listener_lock_folder(path, err), result;
	struct stat at;

	if (folder < 0)
		return folder;
	result = listener_bind_to(listener, folder, err);
	if (result == 0 && lstat(path, &at) < 0) {
		result = error_sys(err, errno, "cannot listen at %s", path);
	} else if (result == 0) {
		listener->device = at.st_dev;
		listener->inode = at.st_ino;
	}
	close(folder);
	return result;
}

int listener_open(struct listener *listener, const char *path, struct error *err)
{
	int result = listener_set_address(&listener->address, path, err);

	if (result < 0)
		return result;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (listener->fd < 0 || listener->spare < 0)
		return error_sys(err, errno, "cannot listen at %s", path);
	return listener_bind(listener, err);
}

void listener_close(struct listener *listener)
{
	struct stat at;

	if (listener->inode != 0 && lstat(listener->address.sun_path, &at) == 0 &&
	    at.st_dev == listener->device && at.st_ino == listener->inode)
		unlink(listener->address.sun_path);
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->spare >= 0)
		close(listener->spare);
	*listener = (struct listener){.fd = -1, .spare = -1};
}

int listener_accept(struct listener *listener, bool *refused)
{
	int fd;

	*refused = false;
	do {
		fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || listener->spare < 0)
		return fd;
	/* It would stay in the queue and wake us for ever. */
	close(listener->spare);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	*refused = fd >= 0;
	listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return -1;
}

/* ---- asking ---- */

int share_connect(const char *path, struct error *err)
{
	const struct timeval wait = {.tv_sec = ANSWER_S};
	struct sockaddr_un address;
	int fd, result = listener_set_address(&address, path, err);

	if (result < 0)
		return result;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_sys(err, errno, "cannot ask %s", path);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		result =
			errno == ENOENT || errno == ECONNREFUSED
				? error_set(err, errno, "no loader listens at %s", path)
				: error_sys(err, errno, "cannot ask %s", path);
		close(fd);
		return result;
	}
	return fd;
}

int share_ask(int connection, char **json)
{
	return protocol_ask_status(connection, json);
}

int share_status(const char *socket, char **json, struct error *err)
{
	int fd = share_connect(socket, err), result;

	if (fd < 0)
		return fd;
	result = share_ask(fd, json);
	if (result < 0)
		error_set(err, -result,
			  result == -ENOMEM ? "no memory for the state of %s"
					    : "what listens at %s gives no answer",
			  socket);
	close(fd);
	return result;
}
