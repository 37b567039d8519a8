/*
 * program.h - a program that uses libdsa with DSA_SHARE, and remembers what it got.
 */
#ifndef DSA_TESTS_PROGRAM_H
#define DSA_TESTS_PROGRAM_H

#include "loader/loader.h"

#include <stdbool.h>

struct actor;

enum { PROGRAM_BATCH = 8, PROGRAM_MOST = 1000 };

/* The samples of all batches, since the last one was opened. */
struct program {
	uint32_t count;
	uint32_t sample[PROGRAM_MOST];
	uint64_t epoch[PROGRAM_MOST], step[PROGRAM_MOST];
	char why[DSA_WHY]; /* why it could not be opened */
};
extern struct program program;

/* Two epochs of an actor's data set. */
struct dsa_config program_config(void);

/* Both: dsa_open() with these in DSA_SHARE and DSA_LOADER. The first not beside threads
 * that look there. */
void program_settings(const char *path, const char *settings);
int program_begin(const struct dsa_config *config, struct dsa_loader **loader);
int program_open(const struct dsa_config *config, const char *path,
		 const char *settings, struct dsa_loader **loader);

/* Starts the actor and joins it; fails the test if it can't. */
struct dsa_loader *program_joined(struct actor *actor, const struct dsa_config *config,
				  const char *settings);

/* Remembers a batch; checks its labels and pictures if they are an actor's. */
void program_note(const struct dsa_batch *batch, bool actors);

/* Takes a batch, remembers it and gives it back; as dsa_next(). */
int program_step(struct dsa_loader *loader, bool actors);
void program_steps(struct dsa_loader *loader, unsigned count); /* of an actor's */

/* Fails the test unless each sample of these epochs came once, and steps follow one
 * another. */
void program_once(uint64_t first_epoch, uint64_t epochs);

struct dsa_stats program_stats(const struct dsa_loader *loader);

#endif
