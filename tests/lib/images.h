/* images.h - two data sets of JPEGs, of which one is damaged, and a loader for them. */
#ifndef DSA_TESTS_IMAGES_H
#define DSA_TESTS_IMAGES_H

#include "loader/loader.h"
#include "tests/lib/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	IMAGES_COUNT = 60, /* as many of each class */
	IMAGES_CLASSES = 3,
	IMAGES_BAD = 5,
	IMAGES_EPOCHS = 3,
	IMAGES_BATCH = 7, /* no divisor of anything here */
	IMAGES_STEPS = 9, /* of an epoch */
};

/* The data sets; and the folder where indexes are kept. */
extern char images_good[TREE_PATH], images_bad[TREE_PATH], images_home[TREE_PATH];
extern uint64_t images_bytes[2][IMAGES_COUNT]; /* of good and bad samples */

/* Samples of `bad` that can't be decoded; the rest can. */
extern const unsigned images_bad_ones[IMAGES_BAD];
bool images_is_bad(unsigned number);

/* For cmocka_run_group_tests(): make the data sets, and remove them. */
int images_setup(void **state);
int images_teardown(void **state);

/* Of one of them or any other: two workers, no cache. */
struct dsa_config images_config(const char *dataset);

#endif
