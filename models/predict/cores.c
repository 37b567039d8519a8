/* cores.c - reads P(k), fits it, and goes beyond its last point. */
#include "models/predict/cores.h"
#include "loader/base/math/quadrature.h"
#include "loader/base/number.h"
#include "models/predict/too_short.h"

/* An interval of two or three windows is too rough to weigh by: a point is a point. */
#define MOST_ERROR .05
#define NORMAL_95  1.959964

/* ---- the machine ---- */

/* A number of the environment; NAN: not known. */
static double fact_of(const struct profile *profile, const char *key)
{
	const char *text = profile_fact_of(profile, key);
	double value;

	return text != NULL && number_real(text, &value) ? value : NAN;
}

static bool cores_counts(const struct profile_point *point)
{
	return !point->with_consumer && point->x >= 1 && point->x <= CORES_MAX &&
	       point->per_s.value > 0 && isfinite(point->per_s.value);
}

static double most_workers(const struct profile *profile)
{
	double most = 0;

	for (size_t i = 0; i < profile->prep_points; i++)
		if (cores_counts(&profile->prep_curve[i]))
			most = fmax(most, profile->prep_curve[i].x);
	return most;
}

/* Cores that the run could use, quota left out. */
static double cores_allowed(const struct profile *profile)
{
	double allowed = fact_of(profile, "cpu_threads_allowed");

	if (profile->cores != UNKNOWN)
		return (double)profile->cores;
	return isnan(allowed) ? most_workers(profile) : allowed;
}

/* Which threads the run had is known only when it had all, or all are cores. */
static unsigned physical_of(const struct profile *profile, double allowed,
			    unsigned have)
{
	double threads = fact_of(profile, "cpu_threads");
	double physical = fact_of(profile, "cpu_cores");

	if (have == 1 || (physical > 0 && physical == threads))
		return have;
	if (!(physical >= 1) || !(allowed >= threads))
		return 0;
	return physical < have ? (unsigned)physical : have;
}

static void read_machine(const struct profile *profile, struct cores *cores)
{
	double allowed = cores_allowed(profile), have;

	cores->quota = fact_of(profile, "cpu_quota");
	have = isnan(cores->quota) ? allowed : floor(fmin(allowed, cores->quota));
	cores->have = (unsigned)fmax(1, fmin(have, UINT16_MAX));
	cores->physical = physical_of(profile, allowed, cores->have);
}

/* ---- the points ---- */

static bool cores_measured(const struct cores *cores, unsigned k)
{
	return k <= CORES_MAX && !isnan(cores->rate[k].value);
}

static void read_points(const struct profile *profile, struct cores *cores)
{
	for (unsigned k = 0; k <= CORES_MAX; k++)
		cores->rate[k] = INTERVAL_UNKNOWN;
	for (size_t i = 0; i < profile->prep_points; i++) {
		const struct profile_point *point = &profile->prep_curve[i];

		if (!cores_counts(point) || point->x > cores->have ||
		    cores_measured(cores, point->x))
			continue;
		cores->rate[point->x] = point->per_s;
		cores->points++;
		if (cores->first == 0 || point->x < cores->first)
			cores->first = point->x;
		if (point->x > cores->last)
			cores->last = point->x;
	}
}

/* Points measured once have the error of the scatter; no rate is below 0. */
static void complete_points(struct cores *cores)
{
	double error = fmax(USL_LEAST_ERROR, cores->law.scatter); /* NAN: the least */

	for (unsigned k = cores->first; k <= cores->last; k++) {
		struct interval *rate = &cores->rate[k];
		double half = NORMAL_95 * error * rate->value;

		if (!cores_measured(cores, k))
			continue;
		if (isnan(rate->low) || isnan(rate->high)) {
			rate->low = rate->value - half;
			rate->high = rate->value + half;
		}
		rate->low = fmax(rate->low, 0);
	}
}

/* ---- beyond them ---- */

/* Relative standard error of a point, by its own interval. */
static double cores_error_of(struct interval rate)
{
	double own = interval_half(rate) / NORMAL_95 / rate.value;

	if (isnan(own))
		return USL_LEAST_ERROR;
	return fmin(fmax(own, USL_LEAST_ERROR), MOST_ERROR);
}

static bool shares_cores(const struct cores *cores)
{
	return cores->physical > 0 && cores->physical < cores->have;
}

/* The law of cores is fitted where no two threads share one. */
static void cores_fit(struct cores *cores)
{
	unsigned end = shares_cores(cores) && cores->physical < cores->last
			       ? cores->physical
			       : cores->last;
	struct usl_point points[CORES_MAX];
	size_t count = 0;

	for (unsigned k = cores->first; k <= end; k++)
		if (cores_measured(cores, k))
			points[count++] =
				(struct usl_point){k, cores->rate[k].value,
						   cores_error_of(cores->rate[k])};
	usl_fit(points, count, &cores->law);
}

/* The product of two whose errors are independent. */
static struct interval cores_times(struct interval x, struct interval y)
{
	double value = x.value * y.value;
	double below = quadrature(1 - x.low / x.value, 1 - y.low / y.value);
	double above = quadrature(x.high / x.value - 1, y.high / y.value - 1);

	return (struct interval){value, value * fmax(0, 1 - below),
				 value * (1 + above)};
}

/* Without the gain of second threads the law of cores says nothing of threads. */
static void measure_second(struct cores *cores)
{
	struct interval one;

	cores->second = (struct interval){1, 1, 1};
	if (!shares_cores(cores) || cores->law.freedom == 0)
		return;
	if (cores->last != cores->have) {
		cores->law.freedom = 0;
		return;
	}
	one = cores_rate(cores, cores->physical, NULL);
	cores->second = cores_times(
		cores->rate[cores->have],
		(struct interval){1 / one.value, 1 / one.high, 1 / one.low});
}

/* A rate of 1 for each core; only their ratios are looked at. */
static void cores_assume(struct cores *cores)
{
	cores->assumed = true;
	cores->first = 1;
	cores->last = cores->have < CORES_MAX ? cores->have : CORES_MAX;
	for (unsigned k = 1; k <= cores->last; k++)
		cores->rate[k] = (struct interval){k, k, k};
}

int cores_of(const struct profile *profile, struct cores *cores, struct error *err)
{
	*cores = (struct cores){0};
	read_machine(profile, cores);
	read_points(profile, cores);
	if (cores->points == 0 && profile_loader(profile) == LOADER_TORCH) {
		cores_assume(cores);
		return 0;
	}
	if (cores->points == 0)
		return too_short(profile, "preparation alone", err);
	cores_fit(cores);
	complete_points(cores);
	measure_second(cores);
	return 0;
}

/* ---- P(k) ---- */

/* On a line in P(k)/k between two points. */
static struct interval cores_between(const struct cores *cores, unsigned k)
{
	unsigned below = k, above = k;
	const struct interval *low, *high;
	double share, x, y;

	while (!cores_measured(cores, below))
		below--;
	while (!cores_measured(cores, above))
		above++;
	low = &cores->rate[below];
	high = &cores->rate[above];
	share = (double)(k - below) / (double)(above - below);
	x = (1 - share) * k / below;
	y = share * k / above;
	return (struct interval){x * low->value + y * high->value,
				 x * low->low + y * high->low,
				 x * low->high + y * high->high};
}

static double cores_threads_each(const struct cores *cores)
{
	return shares_cores(cores) ? (double)cores->have / cores->physical : 1;
}

/* Threads when the cores that they are on are all counted whole. */
static double cores_whole(const struct cores *cores, unsigned k)
{
	return cores_threads_each(cores) * ceil(k / cores_threads_each(cores));
}

/* More cores are no loss, and no more than linear gain over what was measured; fewer the
 * other way round. */
static struct interval cores_bounds(const struct cores *cores, unsigned k)
{
	unsigned n = k < cores->first ? cores->first : cores->last;
	struct interval end = cores->rate[n];
	double share = k < n ? (double)k / n : cores_whole(cores, k) / n;

	if (k < n)
		return (struct interval){NAN, end.low * share, end.high};
	return (struct interval){NAN, end.value, end.value * share};
}

/*
 * The law's interval, but no more than linear gain. It may lie below P(n): where the
 * law turns down, more cores are a loss.
 */
static struct interval cores_fitted(const struct cores *cores, unsigned k)
{
	struct interval rate = cores_times(
		usl_rate(&cores->law, k / cores_threads_each(cores)), cores->second);

	rate.high = fmin(rate.high, cores_bounds(cores, k).high);
	rate.value = fmin(rate.value, rate.high);
	return rate;
}

struct interval cores_rate(const struct cores *cores, unsigned k,
			   enum cores_basis *basis)
{
	enum cores_basis found = CORES_BOUNDS;

	if (cores_measured(cores, k))
		found = CORES_MEASURED;
	else if (k > cores->first && k < cores->last)
		found = CORES_BETWEEN;
	else if (k > cores->last && cores->law.freedom > 0)
		found = CORES_FITTED;
	if (basis != NULL)
		*basis = found;
	switch (found) {
	case CORES_MEASURED:
		return cores->rate[k];
	case CORES_BETWEEN:
		return cores_between(cores, k);
	case CORES_FITTED:
		return cores_fitted(cores, k);
	case CORES_BOUNDS:
		break;
	}
	return cores_bounds(cores, k);
}

/* ---- what follows from it ---- */

/* An end of the interval, or the value; the middle where there is none. */
static double side_of(struct interval rate, int side)
{
	if (side != 0)
		return side < 0 ? rate.low : rate.high;
	return isnan(rate.value) ? (rate.low + rate.high) / 2 : rate.value;
}

/* P(1); where it was not measured a core is taken to give what one of `first` does. */
static double cores_alone(const struct cores *cores)
{
	return cores->rate[cores->first].value / cores->first;
}

/* What m threads together give on these cores, in threads that run alone. */
static double cores_together(const struct cores *cores, unsigned m, unsigned available,
			     int side)
{
	struct interval rate;
	double least;

	if (m > available && available == cores->have && cores->quota > available)
		return cores_together(cores, available, available, side) *
		       fmin(m, cores->quota) / available;
	m = m < available ? m : available;
	if (m <= 1)
		return m;
	rate = cores_rate(cores, m, NULL);
	/* A rough interval is no evidence that many do less than one does alone. */
	least = fmin(cores_alone(cores), side_of(rate, 0));
	return fmin(fmax(side_of(rate, side), least) / cores_alone(cores), m);
}

void cores_speeds(const struct cores *cores, unsigned available, int side,
		  double *speed, size_t count)
{
	for (size_t m = 0; m < count; m++)
		speed[m] = m < 1 ? 1
				 : cores_together(cores, (unsigned)m, available, side) /
					   (double)m;
}

double cores_speed(const struct cores *cores, unsigned m)
{
	return m > 1 ? cores_together(cores, m, cores->have, 0) / m : 1;
}
