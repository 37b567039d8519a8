/*
 * index_rate.c - files a second that a directory tree is indexed at, once its metadata
 * is warm, and what the kept index saves.
 *
 *	index_rate [FILES [FOLDER]]	200000 empty files in 200 classes below FOLDER
 *					(/tmp), removed afterwards
 */
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/number.h"
#include "loader/source.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PER_CLASS = 1000, RUNS = 5 };

static void make_tree(unsigned files)
{
	for (unsigned i = 0; i < files; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "tree/n%08u", i / PER_CLASS);
		if (i % PER_CLASS == 0 && mkdir(path, 0700) < 0)
			err(1, "%s", path);
		snprintf(path, sizeof(path), "tree/n%08u/n%08u_%u.JPEG", i / PER_CLASS,
			 i / PER_CLASS, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			err(1, "%s", path);
		close(fd);
	}
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Seconds that opening takes. */
static double seconds(const char *index_dir, unsigned threads)
{
	struct source_config config = {.index_dir = index_dir, .threads = threads};
	uint64_t start = clock_now();
	struct error error = {0};
	struct source *source = source_open("tree", &config, &error);
	uint64_t end = clock_now();

	if (source == NULL)
		errx(1, "%s", error.message);
	source_close(source);
	return (double)(end - start) * 1e-9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values)
{
	qsort(values, RUNS, sizeof(*values), compare);
	return values[RUNS / 2];
}

static void measure(unsigned files)
{
	double one[RUNS], all[RUNS], kept[RUNS];

	seconds("", 0); /* warms the metadata */
	clock_sleep_until(clock_now() +
			  2500000000u); /* a tree must settle to be kept */
	seconds("kept", 0);
	for (int i = 0; i < RUNS; i++) {
		one[i] = seconds("", 1);
		all[i] = seconds("", 0);
		kept[i] = seconds("kept", 0);
	}
	printf("%u files: %.0f files/s with one thread, %.0f with one per core\n",
	       files, files / median(one), files / median(all));
	printf("the kept index opens %.1f times as fast: %.0f files/s\n",
	       median(all) / median(kept), files / median(kept));
}

int main(int argc, char **argv)
{
	const char *folder = argc > 2 ? argv[2] : "/tmp";
	char scratch[PATH_MAX];
	unsigned files = 200000;

	if (argc > 1 && !number_count(argv[1], UINT_MAX, &files))
		errx(2, "'%s' is no number of files", argv[1]);
	snprintf(scratch, sizeof(scratch), "%s/dsa-index-XXXXXX", folder);
	if (mkdtemp(scratch) == NULL || chdir(scratch) < 0 || mkdir("tree", 0700) < 0)
		err(1, "%s", scratch);
	make_tree(files);
	measure(files);
	if (chdir("/") < 0 || nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		err(1, "%s", scratch);
	return 0;
}
