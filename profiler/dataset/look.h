/* look.h - examines one file of a data set: how large, what kind of picture, broken? */
#ifndef DSA_LOOK_H
#define DSA_LOOK_H

#include "profiler/dataset/jpeg_header.h"

struct error;
struct looker;
struct source;

struct look {
	uint64_t size;             /* bytes; 0: could not be opened */
	struct jpeg_header header; /* width 0: could not be read */
};

/* The buffers and decoder of one thread; NULL when memory is short. */
struct looker *looker_new(void);
void looker_free(struct looker *looker);

/*
 * Fills *look, which is 0 before, as far as it can. Returns 0, or -errno when the file
 * is broken: err says how, without its name. With `full` all of it is decoded.
 */
int looker_run(struct looker *looker, const struct source *source, uint32_t sample,
	       bool full, struct look *look, struct error *err);

#endif
