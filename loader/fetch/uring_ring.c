/* uring_ring.c - sets up an io_uring, or reports why there is none. */
#include "loader/fetch/uring_ring.h"
#include "loader/base/error.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int uring_ring_unavailable(struct error *err, int rc)
{
	if (rc == -ENOSYS || rc == -EPERM || rc == -EACCES)
		return error_sys(err, -rc,
				 "io_uring is not allowed here (sysctl "
				 "kernel.io_uring_disabled or a container's seccomp "
				 "profile); the pread engines need no leave");
	if (rc == -EINVAL)
		return error_set(err, ENOSYS,
				 "io_uring of this kernel is too old: 5.19 is needed; "
				 "the pread engines work on any");
	return error_sys(err, -rc, "cannot open io_uring; the pread engines may work");
}

int ring_init(struct io_uring *ring, unsigned entries, unsigned files,
	      struct error *err)
{
	/* Completions without locks or interrupts of the thread, from Linux 6.1 on. */
	static const unsigned flags[] = {
		IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
			IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_R_DISABLED,
	};
	int rc = -EINVAL;

	for (unsigned i = 0; rc == -EINVAL && i < 2; i++)
		rc = io_uring_queue_init(entries, ring, flags[i]);
	if (rc < 0)
		return uring_ring_unavailable(err, rc);
	rc = io_uring_register_files_sparse(ring, files);
	if (rc < 0) {
		io_uring_queue_exit(ring);
		return uring_ring_unavailable(err, rc);
	}
	return 0;
}

void ring_enable(const struct io_uring *ring)
{
	/* liburing 2.3 declares io_uring_enable_rings() but does not export it. */
	syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_ENABLE_RINGS,
		NULL, 0);
}
