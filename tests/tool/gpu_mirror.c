/*
 * gpu_mirror.c - device memory that another process maps by its descriptor, twice in a row
 * and read-only where the driver can.
 *
 *	gpu_mirror		prints what gpu_calls_tell() does
 */
#include "tests/lib/gpu_calls.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const mapped = "device memory by descriptor, read in a child";
static const char *const twice = "twice in a row, same bytes";
enum { PATTERN = 0x5a17c0de };

static int send_descriptor(int socket, int fd)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -errno;
}

/* -1: the other side is gone, or sent none. */
static int receive_descriptor(int socket)
{
	char byte;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
	    message.msg_controllen == sizeof(control))
		memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* What is mapped twice in a row: 2 x bytes from `start` on. */
struct mirror {
	gpu_handle handle;
	cuda_address start;
	size_t bytes;
};

static bool mirror_map(struct gpu_calls *gpu, struct mirror *mirror, int access)
{
	struct gpu_access may = {{GPU_DEVICE, gpu->device}, access};

	return GPU_WENT(gpu, cuMemAddressReserve, &mirror->start, 2 * mirror->bytes, 0,
			0, 0) &&
	       GPU_WENT(gpu, cuMemMap, mirror->start, mirror->bytes, 0, mirror->handle,
			0) &&
	       GPU_WENT(gpu, cuMemMap, mirror->start + mirror->bytes, mirror->bytes, 0,
			mirror->handle, 0) &&
	       GPU_WENT(gpu, cuMemSetAccess, mirror->start, 2 * mirror->bytes, &may, 1);
}

static bool mirror_make(struct gpu_calls *gpu, struct mirror *mirror, int *fd)
{
	struct gpu_memory memory = {.type = GPU_PINNED,
				    .handles = GPU_DESCRIPTOR,
				    .place = {GPU_DEVICE, gpu->device}};

	return GPU_WENT(gpu, cuMemGetAllocationGranularity, &mirror->bytes, &memory,
			0) &&
	       GPU_WENT(gpu, cuMemCreate, &mirror->handle, mirror->bytes, &memory, 0) &&
	       GPU_WENT(gpu, cuMemExportToShareableHandle, fd, mirror->handle,
			GPU_DESCRIPTOR, 0) &&
	       mirror_map(gpu, mirror, GPU_READ_WRITE);
}

/* Whether the bytes across the seam are the pattern that the parent wrote. */
static bool mirror_same(struct gpu_calls *gpu, const struct mirror *mirror)
{
	uint32_t words[2] = {0};

	if (!GPU_WENT(gpu, cuMemcpyDtoH_v2, words, mirror->start + mirror->bytes - 4,
		      8))
		return false;
	snprintf(gpu->why, GPU_WHY, "other bytes: %x %x", words[0], words[1]);
	return words[0] == PATTERN && words[1] == PATTERN;
}

/* gpu_mirror child SOCKET BYTES: has a context of its own, and maps what the parent made. */
static void read_mirror(struct gpu_calls *gpu, char **words)
{
	struct mirror mirror = {.bytes = strtoull(words[1], NULL, 10)};
	int fd = receive_descriptor(atoi(words[0]));
	bool read_only, good;

	if (fd < 0 || !GPU_WENT(gpu, cuMemImportFromShareableHandle, &mirror.handle,
				(void *)(uintptr_t)fd, GPU_DESCRIPTOR)) {
		gpu_calls_tell("FAILED", mapped, "", twice, gpu->why);
		return;
	}
	read_only = mirror_map(gpu, &mirror, GPU_READ);
	gpu_calls_tell("ok", "read-only mapping of it", read_only ? "yes" : gpu->why,
		       "", "");
	good = (read_only || mirror_map(gpu, &mirror, GPU_READ_WRITE)) &&
	       mirror_same(gpu, &mirror);
	gpu_calls_tell(good ? "ok" : "FAILED", mapped, "", twice, good ? "" : gpu->why);
	if (!read_only)
		return;
	read_only = !GPU_WENT(gpu, cuMemsetD32_v2, mirror.start, 0, 1) ||
		    !GPU_WENT(gpu, cuStreamSynchronize, NULL);
	gpu_calls_tell("ok", "write to that mapping", read_only ? gpu->why : "taken",
		       "", "");
}

static void run_child(int socket, size_t bytes)
{
	char number[16], size[32];

	snprintf(number, sizeof(number), "%d", socket);
	snprintf(size, sizeof(size), "%zu", bytes);
	execl("/proc/self/exe", "gpu_mirror", "child", number, size, (char *)NULL);
	err(2, "/proc/self/exe");
}

static void write_mirror(struct gpu_calls *gpu)
{
	struct mirror mirror = {0};
	int fd = -1, ends[2], status = 0;
	pid_t child;

	if (!gpu_calls_attribute(gpu, GPU_VMM_DESCRIPTOR)) {
		gpu_calls_tell("n/a", mapped, "", twice,
			       "the device does not have attribute 103");
		return;
	}
	if (!mirror_make(gpu, &mirror, &fd) ||
	    !GPU_WENT(gpu, cuMemsetD32_v2, mirror.start, PATTERN, mirror.bytes / 4) ||
	    !GPU_WENT(gpu, cuStreamSynchronize, NULL)) {
		gpu_calls_tell("FAILED", mapped, "", twice, gpu->why);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || (child = fork()) < 0)
		err(2, "a child");
	if (child == 0)
		run_child(ends[1], mirror.bytes);
	if (send_descriptor(ends[0], fd) < 0 || waitpid(child, &status, 0) < 0)
		err(2, "the child");
	if (status != 0)
		gpu_calls_tell("FAILED", mapped, "", twice, "the child died");
}

int main(int argc, char **argv)
{
	struct gpu_calls gpu = {0};

	if (!gpu_calls_open(&gpu))
		gpu_calls_tell("n/a", mapped, "", twice, gpu.why);
	else if (argc == 4 && strcmp(argv[1], "child") == 0)
		read_mirror(&gpu, argv + 2);
	else
		write_mirror(&gpu);
	return 0;
}
