/*
 * certificate.h - does a window's own evidence prove what it claims to have measured?
 */
#ifndef DSA_CERTIFICATE_H
#define DSA_CERTIFICATE_H

#include "profiler/session/window.h"

/*
 * Judges a measured window and writes the reason into window->why. False: it is void,
 * and must not be used.
 *
 *	cached, prep	no bytes from storage while it was measured
 *	synthetic	nothing fetched, nothing prepared, nothing copied to a device
 *	copied		bytes copied for each sample, nothing fetched or prepared
 *	loaded		nothing fetched, no bytes from storage
 *	real, fetch	bytes from storage match the payload fetched, in whole blocks;
 *			real windows on a warm page cache: at most 1 % of it
 *
 * Those of a loader that the program brought have their own (certificate_made.h).
 *
 * When storage is memory the kernel counts no bytes, and what the engine counted must
 * do.
 */
bool certificate_check(struct window *window);

#endif
