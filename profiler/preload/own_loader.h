/* own_loader.h - what the page tells of a program's own loader, beside its windows. Private
 * to profiler/preload/. */
#ifndef DSA_OWN_LOADER_H
#define DSA_OWN_LOADER_H

struct io_page;
struct profile;

/* Adds its recipe, processes, epochs' ends, and what was not seen. 0 or -ENOMEM. */
int own_loader_add(const struct io_page *page, struct profile *profile);

#endif
