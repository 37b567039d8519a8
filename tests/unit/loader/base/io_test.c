#include "loader/base/io.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { BYTES = (96 << 20) + 100 };

static void ring(int number)
{
	(void)number;
}

static void set_timer(long us)
{
	const struct itimerval timer = {.it_interval.tv_usec = us,
					.it_value.tv_usec = us};

	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* As a profiler's timer does. */
TEST(signals_do_not_end_it)
{
	const struct sigaction action = {.sa_handler = ring};
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct stat status;

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	set_timer(3000);
	for (int i = 0; i < 5; i++) { /* each takes several of its periods */
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(io_allocate(fd, BYTES), 0);
	}
	set_timer(0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, BYTES);
	assert_true(status.st_blocks >= BYTES / 512);
	close(fd);
}

TEST(what_can_not_be_allocated_is_an_error)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(io_allocate(fd, 10), -ENODEV);
	assert_int_equal(io_allocate(-1, 10), -EBADF);
	close(fd);
}

static void assert_no_signal_waits(void)
{
	sigset_t pending;

	assert_int_equal(sigpending(&pending), 0);
	assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
}

/* As of "ulimit -f 16": SIGXFSZ would end this program. */
TEST(a_file_beyond_the_limit_is_an_error)
{
	static const char bytes[1 << 15];
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct rlimit limit, before;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1 << 14;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(io_allocate(fd, sizeof(bytes)), -EFBIG);
	assert_int_equal(io_truncate(fd, sizeof(bytes)), -EFBIG);
	assert_int_equal(io_write(fd, bytes, sizeof(bytes)), -EFBIG);
	assert_no_signal_waits();
	assert_int_equal(io_truncate(fd, 10), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	close(fd);
}
