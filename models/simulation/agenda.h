/*
 * agenda.h - a binary heap: who is due next, by time or by position.
 *
 * The least is on top. Among equals the order follows from the calls alone.
 */
#ifndef DSA_SIMULATION_AGENDA_H
#define DSA_SIMULATION_AGENDA_H

#include <math.h>
#include <stdint.h>

struct agenda_entry {
	double at;
	uint32_t who;
};

struct agenda {
	struct agenda_entry *entries; /* entries[0] is next */
	uint32_t count;
};

/* With room for so many entries. 0 or -ENOMEM. */
int agenda_init(struct agenda *agenda, uint32_t most);
void agenda_fini(struct agenda *agenda);

/* O(log count). */
void agenda_put(struct agenda *agenda, double at, uint32_t who);
uint32_t agenda_take(struct agenda *agenda); /* who is next; there must be one */

/* When the next is; INFINITY: there is none. */
static inline double agenda_next(const struct agenda *agenda)
{
	return agenda->count > 0 ? agenda->entries[0].at : INFINITY;
}

#endif
