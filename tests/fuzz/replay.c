/*
 * replay.c - hands files to a fuzzer, where it is made without clang's: each ends where a
 * page begins that may not be read, and takes half a minute at most. Options are clang's.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SECONDS = 30 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* For fuzzers that change inputs in a way of their own, as none are changed here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
	(void)data;
	(void)most;
	return size;
}

static int replay(const char *path)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size, room;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *begin;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -1;
	size = (size_t)status.st_size;
	room = (size + page - 1) / page * page;
	begin = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (begin == MAP_FAILED || mprotect(begin + room, page, PROT_NONE) < 0 ||
	    read(fd, begin + room - size, size) != (ssize_t)size)
		return -1;
	close(fd);
	alarm(MOST_SECONDS);
	LLVMFuzzerTestOneInput(begin + room - size, size);
	return munmap(begin, room + page);
}

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		puts(argv[i]);
		fflush(stdout); /* the last one is the one that ended it */
		if (replay(argv[i]) < 0) {
			perror(argv[i]);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}
