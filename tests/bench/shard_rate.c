/*
 * shard_rate.c - how fast a tar archive of small samples is indexed, cold, against
 * reading it from its beginning to its end.
 *
 *	shard_rate [SAMPLES [FOLDER]]	1300000 members of 1 kB, each a sample, in one
 *					archive below FOLDER (/tmp), 2 GB, removed
 *					afterwards
 */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/source.h"

#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, MEMBER = 1000, CLASSES = 1000, RUNS = 15, READ = 1 << 20 };

static char path[PATH_MAX];

/* Classes are folders. */
static void add_member(FILE *file, unsigned number)
{
	unsigned char blocks[3 * BLOCK] = {0};
	char *text = (char *)blocks;
	unsigned sum = 0;

	snprintf(text, 100, "%03u/%07u.jpg", number % CLASSES, number);
	snprintf(text + 124, 12, "%011o", (unsigned)MEMBER);
	text[156] = '0';
	memcpy(text + 257, "ustar\00000", 8);
	memset(text + 148, ' ', 8);
	for (int i = 0; i < BLOCK; i++)
		sum += blocks[i];
	snprintf(text + 148, 7, "%06o", sum);
	if (fwrite(blocks, sizeof(blocks), 1, file) != 1)
		err(1, "%s", path);
}

/* Pages that are on the disk can be put out of the page cache. */
static void forget(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0 ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		err(1, "%s", path);
	close(fd);
}

static double read_through(void)
{
	uint64_t start = clock_now();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = malloc(READ);
	ssize_t got = 1;

	if (fd < 0 || bytes == NULL)
		err(1, "%s", path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (got > 0)
		got = read(fd, bytes, READ);
	free(bytes);
	close(fd);
	return clock_since(start);
}

static double index_it(unsigned members)
{
	const struct source_config config = {.index_dir = ""};
	uint64_t start = clock_now();
	struct error error = {0};
	struct source *source = source_open(path, &config, &error);
	double seconds = clock_since(start);

	if (source == NULL || source_count(source) != members)
		errx(1, "%s", error.message);
	source_close(source);
	return seconds;
}

static int shard_rate_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(unsigned members, double bytes)
{
	double reads[RUNS], indexes[RUNS], shares[RUNS];

	for (int i = 0; i < RUNS; i++) {
		forget();
		reads[i] = read_through();
		forget();
		indexes[i] = index_it(members);
		shares[i] = reads[i] / indexes[i];
	}
	qsort(reads, RUNS, sizeof(double), shard_rate_compare);
	qsort(indexes, RUNS, sizeof(double), shard_rate_compare);
	qsort(shares, RUNS, sizeof(double), shard_rate_compare);
	printf("%u samples of 1 kB in one tar of %.2f GB, cold, %d times, medians\n"
	       "  read from end to end  %7.0f MB/s\n"
	       "  indexed               %7.0f MB/s, %.0f samples/s\n"
	       "  of the rate of reading %6.0f %% (%.0f .. %.0f; wanted: 90 %%)\n",
	       members, bytes / 1e9, RUNS, bytes / 1e6 / reads[RUNS / 2],
	       bytes / 1e6 / indexes[RUNS / 2], members / indexes[RUNS / 2],
	       100 * shares[RUNS / 2], 100 * shares[0], 100 * shares[RUNS - 1]);
}

int main(int argc, char **argv)
{
	unsigned members = 1300000;
	FILE *file;
	long bytes;

	if (argc > 1 && !number_count(argv[1], 8000000, &members))
		errx(2, "'%s' is no number of samples", argv[1]);
	snprintf(path, sizeof(path), "%s/dsa-shard-%d.tar", argc > 2 ? argv[2] : "/tmp",
		 (int)getpid());
	file = fopen(path, "we");
	if (file == NULL)
		err(1, "%s", path);
	for (unsigned i = 0; i < members; i++)
		add_member(file, i);
	bytes = ftell(file);
	if (fclose(file) != 0)
		err(1, "%s", path);
	measure(members, (double)bytes);
	unlink(path);
	return 0;
}
