/* look.h - examines one sample of a data set: how large, of what kind, broken? */
#ifndef DSA_LOOK_H
#define DSA_LOOK_H

#include "loader/audio.h"
#include "loader/jpeg.h"
#include "profiler/dataset/sample_kind.h"

struct error;
struct looker;
struct source;

struct look {
	uint64_t size;           /* bytes; 0: could not be opened */
	struct jpeg_info header; /* of a picture; width 0: could not be read */
	struct audio_info audio; /* of a recording; rate 0: could not be read */
	uint32_t largest;        /* of tokens; 0, too: could not be read */
};

/* The buffers and decoder of one thread; NULL when memory is short. */
struct looker *looker_new(enum sample_kind kind);
void looker_free(struct looker *looker);

/*
 * Fills *look, which is 0 before, as far as it can. Returns 0, or -errno when the file
 * is broken: err says how, without its name. With `full` all of it is decoded.
 */
int looker_run(struct looker *looker, const struct source *source, uint32_t sample,
	       bool full, struct look *look, struct error *err);

/* Samples from..to of a source, and the number of tokens after which a window's follows. */
struct look_windows {
	const struct source *source;
	uint32_t from, to, length;
};

/*
 * Looks at those windows of tokens that lie in the first one's file, which are read at
 * once: sets windows->to behind them, and *look, of the first, is of them all. As
 * looker_run().
 */
int looker_run_tokens(struct looker *looker, struct look_windows *windows,
		      struct look *look, struct error *err);

#endif
