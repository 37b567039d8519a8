/*
 * make.h - makes a data set that a small network can learn: of JPEG pictures, of
 * recordings, or of tokens.
 *
 *	tree	DIR/bricks/000000.jpg, DIR/checks/000001.jpg, ...
 *	list	DIR/images/000000.jpg, ... and DIR/list.txt: "images/000000.jpg bricks"
 *	tar	DIR/shard-000000.tar, ... with 000000.jpg, 000000.txt: "bricks", ...
 *	tfrecord DIR/shard-000000.tfrecord, ... as record_archive.h has them
 *	audio	DIR/tone-0110hz/000000.wav, ...
 *	tokens	DIR/topic-00/000000.u16, ...
 */
#ifndef DSA_MAKE_H
#define DSA_MAKE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum make_format {
	MAKE_TREE,
	MAKE_LIST,
	MAKE_TAR,
	MAKE_TFRECORD,
	MAKE_AUDIO,
	MAKE_TOKENS
};

struct make_config {
	const char *dir; /* is made, or is empty */
	uint32_t count;  /* of samples, or files of tokens; at least 1 */
	uint64_t seed;
	double size_mean; /* of the files, bytes: MAKE_SMALLEST .. MAKE_LARGEST */
	int quality;      /* of JPEG, 1 .. 100 */
	unsigned classes; /* 1 .. MAKE_CLASSES */
	unsigned threads; /* at least 1 */
	enum make_format format;
	unsigned token_bits; /* 16 or 32 */
	double shard_size;   /* bytes of a shard, about; it is made in memory */

	/* Set by a signal handler or another thread to give up; may be NULL. */
	const atomic_bool *stop;
	/* Called after each sample by one thread at a time; may be NULL. */
	void (*progress)(void *arg, size_t made);
	void *arg;
};

#define MAKE_CLASSES  100
#define MAKE_SMALLEST 4e3
#define MAKE_LARGEST  4e6

struct make_result {
	uint64_t bytes; /* of all samples */
	double seconds; /* wall time */
};

/*
 * Makes the data set: the same bytes for the same (count, seed, size_mean, quality,
 * classes, format), whatever the number of threads. Files appear whole or not at all. Returns
 * 0, or -errno: -ENOTEMPTY when there is something in dir, -ECANCELED when stopped.
 * After a failure everything that was made is removed again.
 */
int make_run(const struct make_config *config, struct make_result *result,
	     struct error *err);

/* What so many samples are: "picture", "recordings", "files of tokens". */
const char *make_words(enum make_format format, uint32_t count);

#endif
