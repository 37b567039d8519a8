/*
 * closed_form.h - the closed form: what each part of a load could sustain alone, and the
 * slowest of them.
 *
 *	compute	batch / max(its time by the clock, its CPU work on the cores)
 *	prep	P(k): workers x speed[workers] / max(CPU work, delay)
 *	fetch	S(q) / misses
 *	cores	m speed[m] / (CPU work of fetch + prep + compute), all of them busy
 *	all	the least of these at each position of the epoch, integrated: where hits
 *		change over it (lru), the least at the mean hit ratio is up to 16 % too fast
 *
 * Of several jobs all rates are their sum: each has its own G; with a pipeline for each P
 * is of all their workers on the same cores, and F of the storage that they share; with
 * one for all a sample that it gives counts for each job, and the slowest sets the pace.
 * Hits of the kernel's cache that one job leaves to another are not in it.
 *
 * T_f and min(F, P, G): DS-Analyzer (Mohan et al., VLDB 2021, section 4.3); here with
 * the cores as a fourth, and integrated. A simulation that follows the same load comes
 * out at most at `all`, apart from what it counts at the edges.
 */
#ifndef DSA_TESTS_CLOSED_FORM_H
#define DSA_TESTS_CLOSED_FORM_H

struct simulation_load;

struct closed_form { /* samples/s; INFINITY where nothing limits */
	double compute, prep, fetch, cores, all;
};

/* The load makes sense, as simulate() checks it. */
void closed_form_of(const struct simulation_load *load, struct closed_form *rates);

#endif
