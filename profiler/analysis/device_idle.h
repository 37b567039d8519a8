/*
 * device_idle.h - what devices did in windows, and the second proof by it.
 *
 * The program may compute while it asks for a batch; a device that is idle, or only
 * copies, shows all the same what training waits. By how much longer it is idle for
 * data for a sample, or copies without computing, in windows of one kind than in those
 * of the stage above is the stage's time: what a program copies by itself is in all of
 * them.
 */
#ifndef DSA_DEVICE_IDLE_H
#define DSA_DEVICE_IDLE_H

#include "profiler/analysis/proof.h"
#include "profiler/profile.h"
#include "profiler/session/window.h"

struct device_idle {
	double wait_s[TRACE_KINDS]; /* of a sample; NAN: not known */
	double data_share; /* of an observed run: of its time; NAN: not known */
};

/*
 * Adds the devices of the sessions to the profile, each in the windows of each kind
 * that count; and fills *idle from the device that computed most in the process that
 * drives. Not where more than one record in a hundred was lost. 0 or -ENOMEM.
 */
int device_idle_find(const struct trace *const *sessions, unsigned count,
		     const struct window *windows, size_t window_count,
		     struct profile *profile, struct device_idle *idle);

/*
 * Puts that in place of the time blocked, where it is known: by difference of windows,
 * a sample of real ones taking `real_s`; or observed, where prep and fetch have the
 * same parts of it as of the time blocked.
 */
void device_idle_prove(const struct device_idle *idle, bool observed, double real_s,
		       struct proof *proof);

#endif
