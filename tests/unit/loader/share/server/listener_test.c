/* The socket of a shared loader: who may make it, and when it can be seen. */
#include "loader/base/error.h"
#include "loader/share/server/listener.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMES = 300 };

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), result = 0;

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		result = errno;
	close(fd);
	return result;
}

TEST(is_the_owners_alone)
{
	struct listener listener;
	struct error err = {0};
	struct stat at;

	assert_int_equal(listener_open(&listener, "socket", &err), 0);
	assert_int_equal(lstat("socket", &at), 0);
	assert_true(S_ISSOCK(at.st_mode));
	assert_int_equal(at.st_mode & 0777, 0600);
	assert_int_equal(connect_to("socket"), 0);
	listener_close(&listener);
	assert_int_equal(lstat("socket", &at), -1);
}

/* One that nobody listens at any longer, as a loader that was killed leaves it. */
TEST(takes_the_place_of_a_dead_socket_alone)
{
	struct listener first, second;
	struct error err = {0};
	int file;

	assert_int_equal(listener_open(&first, "socket", &err), 0);
	assert_int_equal(listener_open(&second, "socket", &err), -EADDRINUSE);
	listener_close(&second);
	close(first.fd);
	first.fd = -1;
	assert_int_equal(connect_to("socket"), ECONNREFUSED);
	assert_int_equal(listener_open(&second, "socket", &err), 0);
	listener_close(&first); /* what is there is not its own any more */
	assert_int_equal(connect_to("socket"), 0);
	listener_close(&second);

	file = open("file", O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	assert_int_equal(listener_open(&first, "file", &err), -EEXIST);
	listener_close(&first);
	close(file);
}

TEST(a_path_may_have_every_byte)
{
	struct listener listener;
	struct error err = {0};
	char path[sizeof(listener.address.sun_path)];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(listener_open(&listener, path, &err), 0);
	assert_int_equal(connect_to(path), 0);
	listener_close(&listener);
}

static atomic_int opened, failed;

static void *connect_at_once(void *unused)
{
	for (int at = 0; at < TIMES; at++) {
		char path[16];
		int result;

		snprintf(path, sizeof(path), "s%d", at);
		while ((result = connect_to(path)) == ENOENT)
			;
		failed += result != 0;
		opened++;
	}
	return unused;
}

TEST(who_sees_it_can_connect)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, connect_at_once, NULL), 0);
	for (int at = 0; at < TIMES; at++) {
		struct listener listener;
		struct error err = {0};
		char path[16];

		snprintf(path, sizeof(path), "s%d", at);
		assert_int_equal(listener_open(&listener, path, &err), 0);
		while (opened <= at)
			usleep(10);
		listener_close(&listener);
	}
	pthread_join(thread, NULL);
	assert_int_equal(failed, 0);
}

TEST_GROUP(scratch_setup, scratch_teardown);
