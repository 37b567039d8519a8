/*
 * page_hits.c - predicted hits as a command: DATASET_BYTES SHARE...
 *
 * A line for each share of the data set: hits of the page cache, hits of a plain LRU.
 */
#include "loader/base/math/steady.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t bytes;

	if (argc < 3)
		return 2;
	bytes = strtoull(argv[1], NULL, 10);
	for (int i = 2; i < argc; i++) {
		double x = strtod(argv[i], NULL);

		printf("%.6f %.6f\n", steady_mean(CACHE_PAGE, x, bytes),
		       steady_mean(CACHE_LRU, x, bytes));
	}
	return 0;
}
