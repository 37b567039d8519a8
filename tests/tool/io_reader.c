/*
 * io_reader.c - a program that reads files as a loader in C does, to be measured by
 * libdsa-io.so; without it the same.
 *
 *	io_reader streams FILE		by all kinds of stream calls, in one batch; prints
 *					how many bytes the kernel says these read
 *	io_reader threads FOLDER N	64 threads open, read and close the files 0 .. 7 of
 *					FOLDER N times each, in one batch
 *	io_reader cost FILE N		prints ns of pread() of 4 KiB, and of open(), read()
 *					and close(), N times: outside of a batch, and in one
 *	io_reader wait FILE N		N batches that open and read FILE once each
 *	io_reader aio FILE		a batch that reads FILE by aio_read()
 *	io_reader uring FILE		the same by io_uring; 77: the kernel has it not
 */
#include "loader/base/clock.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 64 };

static void batch_begin(uint64_t key)
{
	void (*begin)(uint64_t);

	*(void **)&begin = dlsym(RTLD_DEFAULT, "dsa_io_batch_begin");
	if (begin != NULL)
		begin(key);
}

static void batch_end(uint32_t samples)
{
	void (*end)(uint32_t);

	*(void **)&end = dlsym(RTLD_DEFAULT, "dsa_io_batch_end");
	if (end != NULL)
		end(samples);
}

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* ---- streams ---- */

/* rchar, without what asking takes. */
static uint64_t kernel_bytes(void)
{
	static uint64_t own;
	char text[512];
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/io", O_RDONLY | O_CLOEXEC);
	long length = syscall(SYS_read, fd, text, sizeof(text) - 1);
	uint64_t bytes;

	must(length > 7, "/proc/self/io");
	syscall(SYS_close, fd);
	text[length] = '\0';
	bytes = strtoull(text + 7, NULL, 10) - own;
	own += (uint64_t)length;
	return bytes;
}

static void read_pieces(const char *path, size_t piece)
{
	char bytes[1 << 16];
	FILE *file = fopen(path, "r");

	must(file != NULL, path);
	while (fread(bytes, 1, piece, file) == piece)
		;
	fclose(file);
}

static void read_lines(const char *path)
{
	char text[300], *line = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "r");

	must(file != NULL, path);
	while (fgets(text, sizeof(text), file) != NULL)
		;
	rewind(file);
	while (getline(&line, &room, file) > 0)
		;
	rewind(file);
	while (getdelim(&line, &room, 'x', file) > 0)
		;
	free(line);
	fclose(file);
}

static void read_here_and_there(const char *path)
{
	static const long places[] = {0, 100, 50000, 50100, 20000, 3, 99000, 98000};
	char bytes[700];
	FILE *file = fopen(path, "r");

	must(file != NULL, path);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		must(fseek(file, places[i], SEEK_SET) == 0, "fseek");
		must(fread(bytes, sizeof(bytes), 1, file) == 1, "fread");
	}
	for (int i = 0; i < 9000; i++)
		must(getc(file) != EOF || feof(file), "getc");
	must(fseek(file, 0, SEEK_END) == 0, "fseek");
	must(fread(bytes, 1, 1, file) == 0, "fread at the end");
	fclose(file);
}

static void read_letters(const char *path)
{
	FILE *file = fopen(path, "r");

	must(file != NULL, path);
	while (getc_unlocked(file) != EOF)
		;
	fclose(file);
}

/* What C++ does with its file streams. */
static void read_below(const char *path)
{
	char bytes[10000];
	FILE *file = fopen(path, "r");

	must(file != NULL, path);
	while (read(fileno(file), bytes, sizeof(bytes)) > 0)
		;
	fclose(file);
}

static void streams(const char *path)
{
	uint64_t before;

	batch_begin(0);
	batch_end(1);
	before = kernel_bytes();
	batch_begin(1);
	read_pieces(path, 100);
	read_pieces(path, 4096);
	read_pieces(path, 10000);
	read_lines(path);
	read_here_and_there(path);
	read_letters(path);
	read_below(path);
	/* before the batch's end, which reads /proc */
	before = kernel_bytes() - before;
	batch_end(1);
	printf("%" PRIu64 "\n", before);
}

/* ---- threads ---- */

static const char *folder;
static int times;

static void *open_files(void *arg)
{
	char path[4096], bytes[4096];

	(void)arg;
	for (int i = 0; i < times; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%d", folder, i % 8);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		must(fd >= 0, path);
		must(read(fd, bytes, sizeof(bytes)) >= 0, path);
		must(pread(fd, bytes, 100, 50) >= 0, path);
		close(fd);
	}
	return NULL;
}

static void threads(const char *path, int count)
{
	pthread_t thread[THREADS];

	folder = path;
	times = count;
	batch_begin(1);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, open_files, NULL) == 0, "thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	batch_end(1);
}

/* ---- cost ---- */

static double cost_of_pread(const char *path, int count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	uint64_t begin = clock_now();

	for (int i = 0; i < count; i++)
		must(pread(fd, bytes, sizeof(bytes), i % 4 * 4096) >= 0, path);
	begin = clock_now() - begin;
	close(fd);
	return (double)begin / count;
}

static double cost_of_file(const char *path, int count)
{
	char bytes[4096];
	uint64_t begin = clock_now();

	for (int i = 0; i < count; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		must(read(fd, bytes, sizeof(bytes)) >= 0, path);
		close(fd);
	}
	return (double)(clock_now() - begin) / count;
}

static void cost(const char *path, int count)
{
	batch_begin(1);
	batch_end(1);
	for (int inside = 0; inside < 2; inside++) {
		if (inside)
			batch_begin(2);
		cost_of_pread(path, count / 10); /* warm */
		printf("%.1f %.1f\n", cost_of_pread(path, count),
		       cost_of_file(path, count));
	}
	batch_end(1);
}

static void wait_for_it(const char *path, int count)
{
	for (int i = 0; i < count; i++) {
		batch_begin((uint64_t)i);
		read_below(path);
		batch_end(1);
	}
}

/* ---- reads that are no calls ---- */

static char later[1 << 16];

static void read_by_aio(const char *path)
{
	struct aiocb request = {.aio_buf = later, .aio_nbytes = sizeof(later)};
	const struct aiocb *all[] = {&request};

	batch_begin(0);
	batch_end(1);
	batch_begin(1);
	request.aio_fildes = open(path, O_RDONLY | O_CLOEXEC);
	must(request.aio_fildes >= 0 && aio_read(&request) == 0, "aio_read");
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(all, 1, NULL);
	must(aio_return(&request) > 0, path);
	batch_end(1);
}

static void read_by_uring(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct io_uring ring;
	struct io_uring_cqe *done;

	batch_begin(0);
	if (io_uring_queue_init(4, &ring, 0) < 0)
		exit(77);
	io_uring_prep_read(io_uring_get_sqe(&ring), fd, later, sizeof(later), 0);
	must(io_uring_submit(&ring) == 1, "io_uring_submit");
	must(io_uring_wait_cqe(&ring, &done) == 0 && done->res > 0, path);
	batch_end(1);
	io_uring_queue_exit(&ring);
	close(fd);
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "streams") == 0)
		streams(argv[2]);
	else if (strcmp(argv[1], "threads") == 0)
		threads(argv[2], count);
	else if (strcmp(argv[1], "cost") == 0)
		cost(argv[2], count);
	else if (strcmp(argv[1], "aio") == 0)
		read_by_aio(argv[2]);
	else if (strcmp(argv[1], "uring") == 0)
		read_by_uring(argv[2]);
	else
		wait_for_it(argv[2], count);
	return 0;
}
