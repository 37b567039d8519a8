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

/* What opening takes: seconds by the clock, and CPU seconds of all threads. */
struct cost {
	double wall, cpu;
};

static struct cost open_tree(const char *index_dir, unsigned threads)
{
	struct source_config config = {.index_dir = index_dir, .threads = threads};
	uint64_t wall = clock_now(), cpu = clock_process_cpu();
	struct error error = {0};
	struct source *source = source_open("tree", &config, &error);
	struct cost cost = {
		.wall = (double)(clock_now() - wall) * 1e-9,
		.cpu = (double)(clock_process_cpu() - cpu) * 1e-9,
	};

	if (source == NULL)
		errx(1, "%s", error.message);
	source_close(source);
	return cost;
}

static int compare(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return (x->wall > y->wall) - (x->wall < y->wall);
}

/* Sorts the runs, too. */
static struct cost median(struct cost *runs)
{
	qsort(runs, RUNS, sizeof(*runs), compare);
	return runs[RUNS / 2];
}

static void show(const char *what, unsigned files, struct cost *runs)
{
	struct cost cost = median(runs);

	printf("%-22s %9.0f files/s %9.0f files per CPU second\n", what,
	       files / cost.wall, files / cost.cpu);
}

static void measure(unsigned files)
{
	struct cost one[RUNS], all[RUNS], kept[RUNS];

	open_tree("", 0); /* warms the metadata */
	clock_sleep_until(clock_now() +
			  2500000000u); /* a tree must settle to be kept */
	open_tree("kept", 0);
	for (int i = 0; i < RUNS; i++) {
		one[i] = open_tree("", 1);
		all[i] = open_tree("", 0);
		kept[i] = open_tree("kept", 0);
	}
	printf("%u files, listed and opened %d times:\n", files, RUNS);
	show("one thread", files, one);
	show("threads by default", files, all);
	show("from the kept index", files, kept);
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
