/*
 * rig.h - a pipeline between a plan of passes and a final sink, data sets for it, and
 * what it is to publish of them.
 */
#ifndef DSA_TESTS_RIG_H
#define DSA_TESTS_RIG_H

#include "loader/options.h"
#include "loader/pipeline.h"
#include "tests/lib/passes.h"
#include "tests/lib/sink.h"
#include "tests/lib/tree.h"

#include <stdbool.h>

struct cache;
struct error;
struct prep;
struct source;
struct trace_process;

enum { RIG_FILES = 211, RIG_BATCH = 7, RIG_PASSES = 9, RIG_TURN = 77 };

/* Data sets of as many files of 3 bytes, the sample's number; and their samples in one
 * file. In `bad` those of rig_bad_file are empty, in `none` all are. */
extern char rig_good[TREE_PATH], rig_bad[TREE_PATH], rig_none[TREE_PATH];
extern const char rig_one_file[];
extern bool rig_bad_file[RIG_FILES];
extern const bool rig_no_bad_file[RIG_FILES];

/* For cmocka_run_group_tests(): make the data sets, and remove them. */
int rig_setup(void **state);
int rig_teardown(void **state);

/* 1, n, n + 1, 3n + 7 and others; together less than the data set. And all in one. */
extern const uint32_t rig_lengths[RIG_PASSES], rig_whole[1];

struct rig {
	struct options options;
	struct source *source;
	struct cache *cache;
	struct prep *prep;
	struct trace_process *process;
	struct passes passes;
	struct sink sink;
	struct pipeline *pipeline;
};

/* Passes of these lengths over a data set, with these settings; room for 4 batches. */
struct rig *rig_new(const char *dataset, const char *settings, const uint32_t *lengths,
		    uint32_t count);

/* Opens its pipeline. start: NULL is the first sample. */
void rig_start(struct rig *rig, const struct pipeline_point *start);

/* Both, with rig_lengths. */
struct rig *rig_open(const char *dataset, const char *settings);

/* Runs the stream to its end, as turn RIG_TURN. What pipeline_status() says then. */
int rig_run(struct rig *rig, struct error *err);

/* Fails the test if the sink saw a breach of what batch_sink.h says. */
void rig_close(struct rig *rig);

/* A batch that is to come. */
struct rig_row {
	uint32_t pass, position, stolen, count, good;
	uint32_t sample[RIG_BATCH]; /* good of them */
};

struct rig_expected {
	uint32_t rows;
	struct rig_row row[RIG_FILES];
};

/* What a rig of these passes is to publish, made by one loop. */
void rig_expect(struct rig_expected *expected, const struct passes *passes,
		const bool *is_bad);

/* Fail the test: unless all rows from there on were published, and nothing else; unless
 * that place holds its sample's bytes. */
void rig_check(const struct sink *sink, const struct rig_expected *expected,
	       uint32_t from);
void rig_check_place(const struct sink *sink, uint32_t at);

#endif
