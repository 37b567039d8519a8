/*
 * front.h - a cache on disk in front of an engine. Private to loader/fetch/.
 *
 *	client.next() -> front's threads -> on disk? -> client.done()
 *					 -> a few misses in a row -> engine -> client.done()
 *
 * The engine finds the front where it has the client else.
 */
#ifndef DSA_FETCH_FRONT_H
#define DSA_FETCH_FRONT_H

struct disk;
struct fetch;
struct fetch_stats;
struct front;

/* Sets fetch->front, and its client. 0 or -ENOMEM. */
int front_open(struct fetch *fetch, struct disk *disk);

/* Starts the threads, when the engine is open. 0 or -EAGAIN. NULL is allowed, as below. */
int front_start(struct front *front);

/* Ends the threads, before the engine is closed: client.next() returns false. */
void front_stop(struct front *front);
void front_close(struct front *front);

void front_add_stats(const struct front *front, struct fetch_stats *stats);

#endif
