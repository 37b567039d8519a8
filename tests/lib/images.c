/* images.c - makes the data sets. */
#include "tests/lib/images.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

char images_good[TREE_PATH], images_bad[TREE_PATH], images_home[TREE_PATH];
uint64_t images_bytes[2][IMAGES_COUNT];

const unsigned images_bad_ones[IMAGES_BAD] = {4, 17, 31, 32, 59};

bool images_is_bad(unsigned number)
{
	for (unsigned i = 0; i < IMAGES_BAD; i++)
		if (images_bad_ones[i] == number)
			return true;
	return false;
}

static void put(const char *root, unsigned number, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "/class%u/image%02u.jpg",
		 number / (IMAGES_COUNT / IMAGES_CLASSES), number);
	file = tree_file(root, path);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	images_bytes[root == images_bad][number] = size;
}

int images_setup(void **state)
{
	(void)state;
	tree_make(images_home);
	setenv("XDG_CACHE_HOME", images_home, 1);
	tree_make(images_good);
	tree_make(images_bad);
	for (unsigned i = 0; i < IMAGES_COUNT; i++) {
		struct picture picture = {.width = 40 + i, .height = 100 - i};
		size_t size;
		unsigned char *jpeg = picture_jpeg(&picture, &size);

		put(images_good, i, jpeg, size);
		/* No picture at all, and cut in the middle, by turns. */
		if (images_is_bad(i) && i % 2 == 1)
			put(images_bad, i, "nothing", 7);
		else
			put(images_bad, i, jpeg, images_is_bad(i) ? size / 2 : size);
		free(jpeg);
	}
	return 0;
}

int images_teardown(void **state)
{
	(void)state;
	tree_remove(images_good);
	tree_remove(images_bad);
	tree_remove(images_home);
	return 0;
}

struct dsa_config images_config(const char *dataset)
{
	return (struct dsa_config){
		.dataset = dataset,
		.batch = IMAGES_BATCH,
		.workers = 2,
		.prefetch = 3,
		.fetch_depth = 4,
		.fetch = "pread",
		.cache = "none",
		.seed = 5,
		.epochs = IMAGES_EPOCHS,
		.size = 16,
		.type = DSA_UINT8,
	};
}
