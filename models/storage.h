/*
 * storage.h - a storage as a latency and a bandwidth, from S(q).
 *
 * With q reads in flight, by Little's law and because transfers take turns:
 *
 *	S(q) = min(q / (latency + bytes / bandwidth), bandwidth / bytes, peak)
 *
 * samples/s for samples of `bytes` on average. Emulated storage is known exactly; what
 * is under it is measured unthrottled.
 */
#ifndef DSA_STORAGE_H
#define DSA_STORAGE_H

#include "profiler/profile.h"

struct error;

struct storage {
	double latency_s;   /* of a read of mean size, alone, transfer left out */
	double bandwidth;   /* bytes/s of all reads together */
	double mean_bytes;  /* of a sample */
	double uncertainty; /* relative half-width of the rates that it was found by */
	double cpu_s;       /* CPU work of a read; NAN: unknown */
	double emulated_bandwidth,
		emulated_latency_s; /* in the run; INFINITY, 0: none */
	bool native; /* latency_s and bandwidth are of the storage itself; false:
			       * only of the emulated one on it */
};

/* -ENODATA (err): no S(q) in the profile. */
int storage_of(const struct profile *profile, struct storage *storage,
	       struct error *err);

/* S(q) with the storage emulated at (bandwidth, latency_s) on top; INFINITY and 0:
 * none. samples/s. */
double storage_rate(const struct storage *storage, unsigned q, double bandwidth,
		    double latency_s);

/* Reads in flight that this storage needs for `per_s`; 0: no depth reaches it. */
unsigned storage_depth(const struct storage *storage, double per_s, double bandwidth,
		       double latency_s);

#endif
