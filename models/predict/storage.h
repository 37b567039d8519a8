/*
 * storage.h - a storage as S(q): what reads give with q of them in flight.
 *
 * By Little's law S(q) = q / W(q), where W is the time that a read takes among q. W
 * stays while reads don't meet, and grows with q where transfers take turns, so
 * between two depths that were measured it goes by a line. Beyond the deepest: as much
 * as there where the rate has stopped growing, else as long. In short:
 *
 *	S(q) = min(q / (latency + bytes / bandwidth), bandwidth / bytes)
 *
 * Emulated storage on top is known exactly (throttle.h): never more than q / latency
 * or bandwidth / bytes. What is under it is measured unthrottled.
 */
#ifndef DSA_STORAGE_H
#define DSA_STORAGE_H

#include "profiler/profile.h"

struct error;

enum { STORAGE_POINTS = 32 };

struct storage_point {
	unsigned q;
	double read_s; /* W(q), of a read of mean_bytes */
};

struct storage {
	double latency_s;   /* of a read of mean size, alone, transfer left out */
	double bandwidth;   /* bytes/s of all reads together; INFINITY: no end seen */
	double mean_bytes;  /* of a sample */
	double uncertainty; /* relative half-width of the rates that it was found by */
	double cpu_s;       /* CPU work of a read; NAN: unknown */
	double emulated_bandwidth,
		emulated_latency_s; /* in the run; INFINITY, 0: none */
	bool native; /* latency_s, bandwidth and seen are of the storage itself;
			* false: of what is emulated on it */
	bool remote; /* of servers: read_s of the points is what an answer took, so that
			* q / read_s is what q of them give, however long it was measured */
	size_t points; /* in seen, by q */
	struct storage_point seen[STORAGE_POINTS];
};

/* Bytes of a sample on average over the data set or, where nobody knows how large that is,
 * over the samples that were timed; NAN: unknown. */
double storage_sample_bytes(const struct profile *profile);

/* -ENODATA (err): neither S(q) nor emulated storage in the profile, or no size of its
 * samples. */
int storage_of(const struct profile *profile, struct storage *storage,
	       struct error *err);

/*
 * S(q), samples/s, with the storage emulated at (bandwidth, latency_s) on top; INFINITY
 * and 0: none. NAN where that is not known: shallower than any depth that was measured;
 * or only emulated storage was, and this would be faster.
 */
double storage_rate(const struct storage *storage, unsigned q, double bandwidth,
		    double latency_s);

#endif
