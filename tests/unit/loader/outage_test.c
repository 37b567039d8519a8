/* Storage that is away for a while, as a program with a private loader sees it. */
#include "loader/loader.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGES = 60, CLASSES = 3, EPOCHS = 6 };

static char images[TREE_PATH], home[TREE_PATH];

static int make_images(void **state)
{
	const struct picture picture = {.width = 40, .height = 30};
	size_t size;
	unsigned char *jpeg = picture_jpeg(&picture, &size);

	(void)state;
	tree_make(home); /* indexes are kept there */
	setenv("XDG_CACHE_HOME", home, 1);
	tree_make(images);
	for (unsigned i = 0; i < IMAGES; i++) {
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "/class%u/%02u.jpg", i % CLASSES, i);
		file = tree_file(images, path);
		assert_int_equal(fwrite(jpeg, 1, size, file), size);
		assert_int_equal(fclose(file), 0);
	}
	free(jpeg);
	return 0;
}

static int remove_images(void **state)
{
	(void)state;
	tree_remove(images);
	tree_remove(home);
	return 0;
}

/* Two of three classes are where nobody looks for them, or back again. */
static void move_classes(bool away)
{
	static const char *const at[] = {"", "-away"};

	for (unsigned i = 1; i < CLASSES; i++) {
		char from[PATH_MAX], to[PATH_MAX];

		snprintf(from, sizeof(from), "%s/class%u%s", images, i, at[!away]);
		snprintf(to, sizeof(to), "%s/class%u%s", images, i, at[away]);
		assert_int_equal(rename(from, to), 0);
	}
}

/* Trains to the end; two classes are away from the first epoch's first batch until the
 * second's. in_epoch: samples of each epoch. */
static void train(struct dsa_loader *loader, unsigned in_epoch[EPOCHS])
{
	bool away = false;
	struct dsa_batch batch;

	while (dsa_next(loader, &batch) == 1) {
		in_epoch[batch.epoch] += batch.count;
		if (away != (batch.epoch == 0)) {
			away = !away;
			move_classes(away);
		}
		assert_int_equal(dsa_release(loader, &batch), 0);
	}
}

TEST_WITH(what_could_not_be_read_is_tried_again_in_the_next_epoch, make_images,
	  remove_images)
{
	const struct dsa_config config = {
		.dataset = images,
		.batch = 7,
		.workers = 2,
		.prefetch = 3, /* less than an epoch is read ahead */
		.fetch_depth = 4,
		.fetch = "pread",
		.cache = "none",
		.seed = 5,
		.epochs = EPOCHS,
		.size = 16,
		.type = DSA_UINT8,
	};
	unsigned in_epoch[EPOCHS] = {0};
	struct dsa_loader *loader = NULL;
	char why[DSA_WHY] = "";
	struct dsa_stats stats;

	if (dsa_open(&config, &loader, why) < 0)
		fail_msg("%s", why);
	train(loader, in_epoch);
	assert_int_equal(dsa_stats(loader, &stats), 0);
	dsa_close(loader);
	assert_true(in_epoch[0] + in_epoch[1] < 2 * IMAGES);
	assert_int_equal(in_epoch[EPOCHS - 1], IMAGES);
	assert_true(stats.skipped > 0 && stats.skipped <= IMAGES);
	assert_true(stats.lossy_epochs > 0 && stats.lossy_epochs < EPOCHS);
}
