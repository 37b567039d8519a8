#include "loader/base/error.h"
#include "models/predict/storage.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SAMPLE 110e3

static void close_to(double value, double want, double within)
{
	if (!(fabs(value - want) <= within * fabs(want)))
		fail_msg("%.9g is not within %g of %.9g", value, within, want);
}

static void begin(struct profile *profile, double mean)
{
	profile_init(profile);
	profile->dataset_samples = 1000;
	profile->dataset_bytes = (uint64_t)(1000 * mean);
}

static struct profile_point *add(struct profile *profile, unsigned q, double per_s,
				 double bytes)
{
	struct profile_point *point = profile_add_fetch_point(profile);

	assert_non_null(point);
	point->x = q;
	point->per_s.value = per_s;
	point->bytes_per_s = per_s * bytes;
	return point;
}

static struct storage storage_in(const struct profile *profile)
{
	struct error err = {0};
	struct storage storage;

	assert_int_equal(storage_of(profile, &storage, &err), 0);
	return storage;
}

/* The law of loader/base/throttle.h. */
static double throttled(unsigned q, double bandwidth, double latency_s)
{
	double by_latency = latency_s > 0 ? q / latency_s : INFINITY;

	return fmin(by_latency, bandwidth / SAMPLE);
}

struct shape {
	const char *name;
	double bytes;
	double per_s[6]; /* at 1, 2, 4, 8, 16, 32 */
};

static const struct shape shapes[] = {
	/* 128 KiB reads: 1021, 1667 and 1599 MB/s */
	{"SSD", 131072, {7790, 10900, 12500, 12718, 12500, 12199}},
	{"disk", SAMPLE, {95, 110, 131, 150, 168, 180}},
	{"bucket", SAMPLE, {909, 909, 909, 909, 909, 909}},
	{"network", SAMPLE, {50, 99.9, 199, 398, 795, 1580}},
};

TEST(measured_depths_come_back)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct profile profile;
		struct storage storage;

		begin(&profile, shapes[i].bytes);
		for (unsigned p = 0; p < 6; p++)
			add(&profile, 1u << p, shapes[i].per_s[p], shapes[i].bytes);
		storage = storage_in(&profile);
		assert_true(storage.native);
		for (unsigned p = 0; p < 6; p++)
			close_to(storage_rate(&storage, 1u << p, INFINITY, 0),
				 shapes[i].per_s[p], 1e-6);
		profile_free(&profile);
	}
}

/* From every second depth the others, and deeper than any. */
TEST(other_depths_are_near)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct profile profile;
		struct storage storage;

		begin(&profile, shapes[i].bytes);
		for (unsigned p = 0; p < 5; p += 2)
			add(&profile, 1u << p, shapes[i].per_s[p], shapes[i].bytes);
		storage = storage_in(&profile);
		close_to(storage_rate(&storage, 2, INFINITY, 0), shapes[i].per_s[1],
			 .08);
		close_to(storage_rate(&storage, 8, INFINITY, 0), shapes[i].per_s[3],
			 .08);
		close_to(storage_rate(&storage, 32, INFINITY, 0), shapes[i].per_s[5],
			 .08);
		profile_free(&profile);
	}
}

TEST(latency_and_bandwidth_are_found)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	for (unsigned q = 1; q <= 32; q *= 2)
		add(&profile, q, fmin(q / (.004 + SAMPLE / 200e6), 200e6 / SAMPLE),
		    SAMPLE);
	storage = storage_in(&profile);
	close_to(storage.bandwidth, 200e6, 1e-9);
	close_to(storage.latency_s, .004, 1e-9);
	profile_free(&profile);

	begin(&profile, SAMPLE);
	for (unsigned q = 1; q <= 8; q *= 2)
		add(&profile, q, q / .02, SAMPLE);
	storage = storage_in(&profile);
	assert_true(isinf(storage.bandwidth));
	close_to(storage.latency_s, .02, 1e-9);
	close_to(storage_rate(&storage, 64, INFINITY, 0), 3200, 1e-9);
	profile_free(&profile);
}

/* Fast storage under a throttle: the law of the throttle to the last digit. */
TEST(emulation_follows_the_throttle)
{
	static const double bandwidths[] = {INFINITY, 60e6, 300e6};
	static const double latencies[] = {0, .001, .02};
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	for (unsigned q = 1; q <= 32; q *= 2)
		add(&profile, q, fmin(8000. * q, 20000), SAMPLE);
	storage = storage_in(&profile);
	for (int b = 0; b < 3; b++)
		for (int l = 0; l < 3; l++)
			for (unsigned q = 1; q <= 32; q *= 2) {
				double law = throttled(q, bandwidths[b], latencies[l]);

				close_to(storage_rate(&storage, q, bandwidths[b],
						      latencies[l]),
					 fmin(law, fmin(8000. * q, 20000)), 1e-9);
			}
	profile_free(&profile);
}

/* Two curves in one run: as it was emulated, and what lies under it. */
TEST(what_lies_under_a_throttle_is_kept_apart)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	profile.storage_bandwidth = 100e6;
	profile.storage_latency_s = .002;
	profile.fetch_depth = 8;
	add(&profile, 1, 6000, SAMPLE)->unthrottled = true;
	add(&profile, 8, 9000, SAMPLE)->unthrottled = true;
	profile.fetch_curve[1].cpu_s_per_sample = 40e-6;
	for (unsigned q = 1; q <= 32; q *= 2)
		add(&profile, q, .99 * throttled(q, 100e6, .002), SAMPLE);
	profile.fetch_curve[5].cpu_s_per_sample = 60e-6;
	profile.fetch_curve[7].cpu_s_per_sample = 90e-6;
	storage = storage_in(&profile);
	assert_true(storage.native);
	close_to(storage_rate(&storage, 8, INFINITY, 0), 9000, 1e-9);
	close_to(storage_rate(&storage, 1, 100e6, .002), 500, 1e-9);
	close_to(storage_rate(&storage, 8, 100e6, .002), 100e6 / SAMPLE, 1e-9);
	close_to(storage_rate(&storage, 8, 300e6, 0), 300e6 / SAMPLE, 1e-9);
	close_to(storage.cpu_s, 60e-6, 0);
	assert_true(storage.uncertainty >= .02 && storage.uncertainty < .03);
	profile_free(&profile);
}

TEST(only_emulated_storage_tells_of_slower_alone)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	profile.storage_bandwidth = 100e6;
	for (unsigned q = 1; q <= 8; q *= 2)
		add(&profile, q, 100e6 / SAMPLE, SAMPLE);
	storage = storage_in(&profile);
	assert_false(storage.native);
	close_to(storage.bandwidth, 100e6, 0);
	close_to(storage_rate(&storage, 4, 100e6, 0), 100e6 / SAMPLE, 1e-9);
	close_to(storage_rate(&storage, 4, 40e6, .001), 40e6 / SAMPLE, 1e-9);
	assert_true(isnan(storage_rate(&storage, 4, 200e6, 0)));
	profile_free(&profile);
}

TEST(a_throttle_is_known_without_any_window)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	profile.storage_latency_s = .01;
	storage = storage_in(&profile);
	close_to(storage_rate(&storage, 7, INFINITY, .01), 700, 1e-12);
	close_to(storage_rate(&storage, 7, INFINITY, .02), 350, 1e-12);
	assert_true(isnan(storage_rate(&storage, 7, INFINITY, .005)));
	assert_true(isnan(storage.cpu_s));
	profile_free(&profile);
}

TEST(missing_points_are_said_to_be)
{
	struct error err = {0};
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	assert_int_equal(storage_of(&profile, &storage, &err), -ENODATA);
	assert_non_null(strstr(err.message, "storage alone"));
	add(&profile, 16, 1000, SAMPLE);
	add(&profile, 4, NAN, SAMPLE);
	storage = storage_in(&profile);
	close_to(storage_rate(&storage, 16, INFINITY, 0), 1000, 1e-12);
	close_to(storage_rate(&storage, 64, INFINITY, 0), 1000, 1e-12);
	assert_true(isnan(storage_rate(&storage, 4, INFINITY, 0)));
	profile.dataset_samples = UNKNOWN;
	storage = storage_in(&profile);
	close_to(storage.mean_bytes, SAMPLE, 1e-12);
	profile.fetch_curve[0].bytes_per_s = NAN;
	assert_int_equal(storage_of(&profile, &storage, &err), -ENODATA);
	assert_non_null(strstr(err.message, "large"));
	profile_free(&profile);
}

/* Where no window had one read in flight, the samples' own times tell of it. */
TEST(draws_stand_in_for_one_read_in_flight)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	add(&profile, 8, 4000, SAMPLE);
	add(&profile, 16, 4000, SAMPLE);
	for (int i = 0; i < 3; i++) {
		struct profile_draw *draw = profile_add_draw(&profile);

		assert_non_null(draw);
		draw->fetch_s = i == 2 ? NAN : .001 * (i + .5);
	}
	storage = storage_in(&profile);
	close_to(storage_rate(&storage, 1, INFINITY, 0), 1000, 1e-9);
	close_to(storage_rate(&storage, 8, INFINITY, 0), 4000, 1e-9);
	profile_free(&profile);
}

/* A window that read large samples was not slow. */
TEST(rates_are_those_of_the_mean_sample)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	add(&profile, 1, 100e6 / (1.1 * SAMPLE), 1.1 * SAMPLE);
	add(&profile, 8, 100e6 / (.9 * SAMPLE), .9 * SAMPLE);
	storage = storage_in(&profile);
	close_to(storage_rate(&storage, 1, INFINITY, 0), 100e6 / SAMPLE, 1e-9);
	close_to(storage_rate(&storage, 8, INFINITY, 0), 100e6 / SAMPLE, 1e-9);
	profile_free(&profile);

	begin(&profile, SAMPLE);
	add(&profile, 1, 1 / (.02 + 2 * SAMPLE / 1e9), 2 * SAMPLE);
	add(&profile, 64, 1e9 / SAMPLE, SAMPLE);
	add(&profile, 128, 1e9 / SAMPLE, SAMPLE);
	storage = storage_in(&profile);
	close_to(storage_rate(&storage, 1, INFINITY, 0), 1 / (.02 + SAMPLE / 1e9),
		 1e-6);
	profile_free(&profile);
}

TEST(intervals_of_the_points_make_the_uncertainty)
{
	struct profile profile;
	struct storage storage;

	begin(&profile, SAMPLE);
	for (unsigned q = 1; q <= 4; q *= 2)
		add(&profile, q, 1000, SAMPLE)->per_s =
			(struct interval){1000, 940, 1060};
	storage = storage_in(&profile);
	close_to(storage.uncertainty, .06, 1e-9);
	profile_free(&profile);
}
