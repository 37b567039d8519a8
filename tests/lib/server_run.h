/* server_run.h - made-up runs whose samples servers have. */
#ifndef DSA_TESTS_SERVER_RUN_H
#define DSA_TESTS_SERVER_RUN_H

#include "profiler/profile.h"

#define SERVER_ANSWER_S .02 /* of a request, however many are under way */

/*
 * The profile of a run of 2000 samples of 100 kB on two cores, with four requests at once
 * and an accelerator of 1500 samples/s; it ends with profile_free(). Its fetch windows were
 * so short that their edges show: the rates there are 10 % off, what an answer took is not.
 * `most` requests a second is what servers give.
 */
void server_run_make(struct profile *profile, double most);

#endif
