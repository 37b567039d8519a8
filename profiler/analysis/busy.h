/*
 * busy.h - how busy the machine was while windows were measured.
 */
#ifndef DSA_BUSY_H
#define DSA_BUSY_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

/* Fills `busy` and `busy_why` of the profile from windows that disturbance_judge() has
 * judged. 0 or -ENOMEM. */
int busy_find(const struct window *windows, size_t count, struct profile *profile);

/* What a window's load says, in a window of the profile. */
void busy_fill_window(const struct window *window, struct profile_window *to);

#endif
