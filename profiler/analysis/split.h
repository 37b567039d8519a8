/*
 * split.h - what of the time that training waits for data is prep and what fetch, where no
 * cached windows tell: batches that can't be given again, or were only observed.
 *
 * The second proof does, where it sees what batches read: mapped files, connections and
 * other processes it does not, and then only that no byte came from storage tells. Of data
 * of which no file is read there is no fetch. Else both are known together alone.
 */
#ifndef DSA_SPLIT_H
#define DSA_SPLIT_H

#include "profiler/profile.h"
#include "profiler/session/window.h"

/*
 * When shares and second proof are measured: sets stalls of prep and fetch where they are
 * not known, how they are told apart, and why. Shares are as near as a replay has to be
 * (turn_proof.h), and by as much less as windows differ. 0 or -ENOMEM.
 */
int split_stalls(const struct window *windows, size_t count, struct profile *profile);

#endif
