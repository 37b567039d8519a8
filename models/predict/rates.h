/*
 * rates.h - what prep alone could sustain, and what the cores could with all stages
 * busy: which of the two limits a load that waits for prep.
 *
 *	prep	P(k): workers / max(CPU work / speed[workers] + what it waits, delay)
 *	cores	m speed[m] / (CPU work of fetch + prep + compute), all of them busy
 *
 * Of several jobs both are their sum: with a pipeline for each P is of all their
 * workers on the same cores; with one for all a sample that it gives counts for each
 * job.
 */
#ifndef DSA_RATES_H
#define DSA_RATES_H

struct simulation_load;

struct rates { /* samples/s */
	double prep, cores;
};

/* The load makes sense, as simulate() checks it. */
void rates_of(const struct simulation_load *load, struct rates *rates);

#endif
