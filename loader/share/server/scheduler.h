/* scheduler.h - in which order samples come. Private to loader/share/. */
#ifndef DSA_SHARE_SCHEDULER_H
#define DSA_SHARE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct error;
struct share_stream;

/*
 * In which order samples come, and where jobs begin. With the lock, but for check,
 * open and close.
 */
struct scheduler_ops {
	/* Whether the loader's config and options fit; NULL: any do. */
	int (*check)(const struct share_stream *stream, struct error *err);

	/* Sets stream->plan. 0 or -errno; close() either way. */
	int (*open)(struct share_stream *stream, struct error *err);
	void (*close)(struct share_stream *stream); /* also what was not opened */

	/* A job takes a slot. 0 or -errno. */
	int (*begin)(struct share_stream *stream, struct client *client,
		     struct error *err);

	/* Its slot does not count any more; twice is allowed. */
	void (*leave)(struct share_stream *stream, struct client *client);

	/* The stream comes to a pass: its first batch is to be published. Or NULL. */
	void (*pass)(struct share_stream *stream, uint64_t pass);

	/* Somebody wants batches; NULL: always. */
	bool (*wanted)(const struct share_stream *stream);
};

extern const struct scheduler_ops scheduler_epoch;  /* one data set: shared_epoch.h */
extern const struct scheduler_ops scheduler_joader; /* some that overlap: joader.h */

#endif
