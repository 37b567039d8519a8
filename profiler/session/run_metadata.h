/*
 * run_metadata.h - what dsa writes about a run into its session, so that a session
 * alone, whose dsa died, can still be reported: command, protocol, budget, environment.
 */
#ifndef DSA_RUN_METADATA_H
#define DSA_RUN_METADATA_H

#include "profiler/profile.h"

#include <stddef.h>

struct error;

/*
 * Writes version, started, protocol, command, repeat, loader, directory, budget,
 * precision, cores and environment of the profile as one JSON object, ended by 0. When
 * `size` bytes can't hold it the environment is left out, then the command, then
 * loader. 0 or -errno.
 */
int run_metadata_write(const struct profile *profile, char *text, size_t size);

/* Fills these members from such a text; anything in it may be missing. 0 or -errno. */
int run_metadata_read(const char *text, struct profile *profile, struct error *err);

#endif
