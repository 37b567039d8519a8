/* fd_table_test.c - which connections count as those that bring data. */
#include "profiler/io/base/attach.h"
#include "profiler/io/fd_table.h"
#include "tests/lib/io_part.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two ends, the first one's address and the other's. */
struct connection {
	int family;
	const char *from, *to;
	int fd, other;
};

static struct sockaddr_storage address_of(int family, const char *text, socklen_t *size)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;

	address.ss_family = (sa_family_t)family;
	inet_pton(family, text,
		  family == AF_INET ? (void *)&four->sin_addr : &six->sin6_addr);
	*size = family == AF_INET ? sizeof(*four) : sizeof(*six);
	return address;
}

/* False: this machine has no such addresses. */
static bool connects(struct connection *between)
{
	socklen_t size;
	struct sockaddr_storage to = address_of(between->family, between->to, &size);
	struct sockaddr_storage from =
		address_of(between->family, between->from, &size);

	between->other = socket(between->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	between->fd = socket(between->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(between->other, (struct sockaddr *)&to, size) == 0 &&
	       listen(between->other, 1) == 0 &&
	       getsockname(between->other, (struct sockaddr *)&to, &size) == 0 &&
	       bind(between->fd, (struct sockaddr *)&from, size) == 0 &&
	       connect(between->fd, (struct sockaddr *)&to, size) == 0;
}

static void hang_up(const struct connection *between)
{
	close(between->fd);
	close(between->other);
}

/* What it is to a batch that nobody looked at it in. */
static enum fd_kind looks_like(int fd)
{
	static uint32_t batch;
	struct fd_entry *entry;

	return fd_look(fd, ++batch, &entry);
}

static void of_ranks(const struct connection *of)
{
	struct connection between = *of;

	if (connects(&between)) {
		assert_non_null(attach_first());
		attach_first()->world = 0;
		assert_int_equal(looks_like(between.fd), FD_SOCKET_NEW);
		attach_first()->world = 1;
		assert_int_equal(looks_like(between.fd), FD_SOCKET_NEW);
		attach_first()->world = 2;
		assert_int_equal(looks_like(between.fd), FD_OTHER);
	} else {
		assert_int_equal(of->family, AF_INET6); /* some have none */
	}
	hang_up(&between);
}

TEST_WITH(by_what_ranks_of_a_job_meet_is_no_data, io_part_setup, io_part_teardown)
{
	of_ranks(&(struct connection){
		.family = AF_INET, .from = "127.0.0.1", .to = "127.0.0.1"});
	of_ranks(&(struct connection){.family = AF_INET6, .from = "::1", .to = "::1"});
}

TEST_WITH(what_ranks_of_a_job_have_from_elsewhere_is, io_part_setup, io_part_teardown)
{
	struct connection between = {
		.family = AF_INET, .from = "127.0.0.1", .to = "127.0.0.2"};

	assert_true(connects(&between));
	assert_non_null(attach_first());
	attach_first()->world = 2;
	assert_int_equal(looks_like(between.fd), FD_SOCKET_NEW);
	assert_int_equal(looks_like(between.other), FD_SOCKET_NEW); /* of nobody yet */
	hang_up(&between);
}
