/* storage.c - finds latency and bandwidth from the points of S(q). */
#include "models/predict/storage.h"
#include "loader/base/error.h"
#include "models/predict/too_short.h"

#include <errno.h>

#define LEAST_ERROR .02 /* no rate is known better, relative half-width */
#define ONCE_ERROR  .03 /* of a window that was measured once */
#define STILL_GROWS .5 /* a rate that grows less than depth to this power has stopped */

/* ---- what the profile says ---- */

static bool storage_counts(const struct profile_point *point)
{
	return point->x > 0 && point->per_s.value > 0 && isfinite(point->per_s.value);
}

static bool is_emulated(const struct storage *storage)
{
	return isfinite(storage->emulated_bandwidth) || storage->emulated_latency_s > 0;
}

/* Bytes of the samples that a point's windows happened to read; NAN: not counted. */
static double storage_bytes_of(const struct profile_point *point)
{
	return point->bytes_per_s > 0 ? point->bytes_per_s / point->per_s.value : NAN;
}

static double mean_of_points(const struct profile *profile)
{
	double bytes = 0, samples = 0;

	for (size_t i = 0; i < profile->fetch_points; i++)
		if (storage_counts(&profile->fetch_curve[i]) &&
		    profile->fetch_curve[i].bytes_per_s > 0) {
			bytes += profile->fetch_curve[i].bytes_per_s;
			samples += profile->fetch_curve[i].per_s.value;
		}
	return bytes / samples;
}

/* Of those that were timed; NAN: none was. */
static double mean_of_draws(const struct profile *profile)
{
	double bytes = 0;

	for (size_t i = 0; i < profile->draw_count; i++)
		bytes += (double)profile->draws[i].bytes;
	return bytes / (double)profile->draw_count;
}

double storage_sample_bytes(const struct profile *profile)
{
	if (profile->dataset_samples == UNKNOWN)
		return mean_of_draws(profile);
	return profile_quotient(profile->dataset_bytes, profile->dataset_samples);
}

/* Of a read alone, by the samples' own times; NAN: not measured. */
static double alone_by_draws(const struct profile *profile)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < profile->draw_count; i++)
		if (profile->draws[i].fetch_s > 0) {
			sum += profile->draws[i].fetch_s;
			count++;
		}
	return sum / count;
}

/*
 * Workers that read for themselves show no S(q): what their reads took with as many of
 * them as the run had. True if they show that.
 */
static bool take_workers(const struct profile *profile, struct storage *storage)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < profile->draw_count; i++)
		if (profile->draws[i].fetch_s >= 0) {
			sum += profile->draws[i].fetch_s;
			count++;
		}
	storage->latency_s = sum / count;
	storage->bandwidth = INFINITY;
	return count > 0;
}

/* CPU work of a read in the point nearest to the run's depth, as it ran if possible. */
static double cpu_of(const struct profile *profile)
{
	double depth =
		profile->fetch_depth == UNKNOWN ? 1 : (double)profile->fetch_depth;
	double cpu_s = NAN, least = INFINITY;

	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];
		double away =
			fabs(log(point->x / depth)) + (point->unthrottled ? 1 : 0);

		if (storage_counts(point) && point->cpu_s_per_sample > 0 &&
		    away < least) {
			least = away;
			cpu_s = point->cpu_s_per_sample;
		}
	}
	return cpu_s;
}

/* ---- S(q) of what lies below ---- */

static void storage_insert(struct storage *storage, struct storage_point point)
{
	size_t at = storage->points;

	if (at == STORAGE_POINTS)
		return;
	for (size_t i = 0; i < storage->points; i++)
		if (storage->seen[i].q == point.q)
			return;
	for (; at > 0 && storage->seen[at - 1].q > point.q; at--)
		storage->seen[at] = storage->seen[at - 1];
	storage->seen[at] = point;
	storage->points++;
}

static double seen_per_s(const struct storage *storage, size_t i)
{
	return storage->seen[i].q / storage->seen[i].read_s;
}

/* One point shows no growth. */
static bool still_grows(const struct storage *storage)
{
	size_t last = storage->points - 1;
	double deeper, faster;

	if (last == 0) /* requests don't meet, as far as that shows */
		return storage->remote;
	deeper = (double)storage->seen[last].q / storage->seen[last - 1].q;
	faster = seen_per_s(storage, last) / seen_per_s(storage, last - 1);
	return faster > pow(deeper, STILL_GROWS);
}

static void take_bandwidth(struct storage *storage)
{
	const struct storage_point *first = &storage->seen[0];
	double most = 0;

	for (size_t i = 0; i < storage->points; i++)
		most = fmax(most, seen_per_s(storage, i));
	storage->bandwidth =
		still_grows(storage) ? INFINITY : most * storage->mean_bytes;
	storage->latency_s = fmax(0, first->read_s - first->q * storage->mean_bytes /
							     storage->bandwidth);
}

/*
 * A window reads some samples, which may be larger or smaller than the mean. What a
 * read takes beyond `fixed_s` goes with its bytes: its transfer, and those before it.
 */
static double for_mean(const struct storage *storage, const struct profile_point *point,
		       double fixed_s)
{
	if (point->read_s > 0)
		return point->read_s;
	double read_s = point->x / point->per_s.value;
	double bytes = storage_bytes_of(point);

	if (isnan(bytes) || read_s <= fixed_s)
		return read_s;
	return fixed_s + (read_s - fixed_s) * storage->mean_bytes / bytes;
}

/* What of a read's time is no transfer, roughly: that of the shallowest point. */
static double fixed_of(const struct profile *profile, bool unthrottled)
{
	const struct profile_point *first = NULL;
	double most = 0;

	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];

		if (!storage_counts(point) || point->unthrottled != unthrottled)
			continue;
		if (point->bytes_per_s > most)
			most = point->bytes_per_s;
		if (first == NULL || point->x < first->x)
			first = point;
	}
	if (first == NULL || !(most > 0) || isnan(storage_bytes_of(first)))
		return 0;
	return fmax(0, first->x / first->per_s.value -
			       first->x * storage_bytes_of(first) / most);
}

static void take_points(const struct profile *profile, bool unthrottled,
			struct storage *storage)
{
	double fixed_s = fixed_of(profile, unthrottled);

	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];

		if (!storage_counts(point) || point->unthrottled != unthrottled)
			continue;
		storage->remote |= point->read_s > 0;
		storage_insert(storage,
			       (struct storage_point){
				       point->x, for_mean(storage, point, fixed_s)});
	}
}

static void take_native(const struct profile *profile, struct storage *storage)
{
	double alone_s = alone_by_draws(profile);

	take_points(profile, is_emulated(storage), storage);
	if (storage->points == 0) {
		storage->native = profile_loader(profile) == LOADER_TORCH &&
				  !is_emulated(storage) &&
				  take_workers(profile, storage);
		return;
	}
	storage->native = true;
	if (alone_s > 0) /* unless it was measured: a point is kept as it is */
		storage_insert(storage, (struct storage_point){1, alone_s});
	take_bandwidth(storage);
}

/* ---- how sure ---- */

/* Relative: its own half-width, or how far from the model it is. */
static double storage_error_of(const struct storage *storage,
			       const struct profile_point *point, double fixed_s)
{
	double own = interval_half(point->per_s) / point->per_s.value;
	double model = storage_rate(storage, point->x, storage->emulated_bandwidth,
				    storage->emulated_latency_s);
	double here = point->x / for_mean(storage, point, fixed_s);

	if (!isnan(own))
		return own;
	return is_emulated(storage) && !point->unthrottled ? fabs(here / model - 1)
							   : ONCE_ERROR;
}

static double uncertainty_of(const struct profile *profile,
			     const struct storage *storage)
{
	double fixed_s = fixed_of(profile, false);
	double squares = 0, count = 0;

	for (size_t i = 0; i < profile->fetch_points; i++) {
		const struct profile_point *point = &profile->fetch_curve[i];
		double error = storage_counts(point)
				       ? storage_error_of(storage, point, fixed_s)
				       : NAN;

		if (isnan(error))
			continue;
		squares += error * error;
		count++;
	}
	return count > 0 ? fmax(LEAST_ERROR, sqrt(squares / count)) : ONCE_ERROR;
}

int storage_of(const struct profile *profile, struct storage *storage,
	       struct error *err)
{
	*storage = (struct storage){
		.mean_bytes = storage_sample_bytes(profile),
		.cpu_s = cpu_of(profile),
		.emulated_bandwidth = profile->storage_bandwidth > 0
					      ? profile->storage_bandwidth
					      : INFINITY,
		.emulated_latency_s =
			profile->storage_latency_s > 0 ? profile->storage_latency_s : 0,
	};
	if (isnan(storage->mean_bytes))
		storage->mean_bytes = mean_of_points(profile);
	if (!(storage->mean_bytes > 0))
		return error_set(err, ENODATA,
				 "the run does not say how large samples are");
	take_native(profile, storage);
	if (!storage->native) {
		if (!is_emulated(storage))
			return too_short(profile, "storage alone", err);
		take_points(profile, false, storage);
		storage->latency_s = storage->emulated_latency_s;
		storage->bandwidth = storage->emulated_bandwidth;
	}
	storage->uncertainty = uncertainty_of(profile, storage);
	return 0;
}

/* ---- what follows from it ---- */

/* Deeper than any point: the rate stays, or the time of a read does. */
static double storage_beyond(const struct storage *storage, unsigned q)
{
	const struct storage_point *last = &storage->seen[storage->points - 1];

	return isinf(storage->bandwidth) ? q / last->read_s : last->q / last->read_s;
}

static double seen_rate(const struct storage *storage, unsigned q)
{
	const struct storage_point *seen = storage->seen;
	size_t above = 0;
	double share;

	while (above < storage->points && seen[above].q < q)
		above++;
	if (storage->points == 0)
		return INFINITY;
	if (above == storage->points)
		return storage_beyond(storage, q);
	if (seen[above].q == q)
		return q / seen[above].read_s;
	if (above == 0)
		return NAN;
	share = (double)(q - seen[above - 1].q) /
		(double)(seen[above].q - seen[above - 1].q);
	return q / ((1 - share) * seen[above - 1].read_s + share * seen[above].read_s);
}

double storage_rate(const struct storage *storage, unsigned q, double bandwidth,
		    double latency_s)
{
	double below = seen_rate(storage, q);
	double law = fmin(latency_s > 0 ? q / latency_s : INFINITY,
			  bandwidth / storage->mean_bytes);

	if (!storage->native && (bandwidth > storage->emulated_bandwidth ||
				 latency_s < storage->emulated_latency_s))
		return NAN;
	return isnan(below) ? below : fmin(law, below);
}
