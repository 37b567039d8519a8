/*
 * actor.h - a shared loader that does what a test wants: it listens, and plays a script
 * of messages for the one program that comes. Its samples are 0 .. ACTOR_COUNT - 1.
 */
#ifndef DSA_TESTS_ACTOR_H
#define DSA_TESTS_ACTOR_H

#include "loader/share/ring/bcast_ring.h"
#include "loader/share/wire/protocol.h"

#include <pthread.h>

enum {
	ACTOR_COUNT = 60, /* samples of the data set */
	ACTOR_SIDE = 4,   /* of a picture, pixels */
	ACTOR_BYTES = 3 * ACTOR_SIDE * ACTOR_SIDE,
	ACTOR_PIECE = 10, /* published at once, at the most */
	ACTOR_PLACES = 100,
	ACTOR_NAMES = 10, /* classes */
};

struct gpu;

extern const char actor_dataset[];

struct actor {
	const char *path; /* of the socket */
	int listener, peer;
	void (*script)(struct actor *actor);
	pthread_t thread;
	struct protocol_hello hello;     /* as it came */
	struct protocol_welcome welcome; /* as it goes */
	struct bcast_ring *ring;
	uint32_t slot;
	int numbers; /* of joader mode; -1: none */
};

/* Its ring begins at a sequence number; it does not listen yet. */
struct actor actor_of(const char *path, void (*script)(struct actor *),
		      uint64_t sequence);

/* Before it starts: its samples have a mirror on a device. */
void actor_mirror(struct actor *actor, struct gpu *gpu);

/* Listens, and plays its script beside the test. */
void actor_start(struct actor *actor);
void actor_play(struct actor *actor, void (*script)(struct actor *)); /* one more */
void actor_join(struct actor *actor); /* the script is over */

/* Its process is gone; its memory stays for those who have it. */
void actor_die(struct actor *actor);
void actor_end(struct actor *actor); /* frees that too */

/* Publishes samples from `first` on, then voids. False: there is no room. */
bool actor_put(struct actor *actor, uint32_t first, uint32_t count, uint32_t holes);
void actor_put_all(struct actor *actor, uint32_t first, uint32_t end);

unsigned char actor_pixel(uint32_t sample, size_t at); /* byte `at` of a sample */

/* Scripts. */
void actor_welcome(struct actor *actor);
void actor_welcome_who_comes(struct actor *actor); /* if one comes */
void actor_welcome_late(struct actor *actor);
void actor_welcome_empty_handed(struct actor *actor);
void actor_refuse(struct actor *actor); /* "there are 64 jobs: no more readers" */
void actor_hang_up(struct actor *actor);
void actor_wait_and_hang_up(struct actor *actor);
void actor_talk_nonsense(struct actor *actor);

#endif
