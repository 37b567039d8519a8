/* prep_run() as the loader sees it: what comes in, what goes out, what is refused. */
#include "loader/base/error.h"
#include "loader/prep.h"
#include "tests/lib/nomem.h"
#include "tests/lib/picture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sample {
	size_t size; /* bytes of the sample */
	void *data;
	int result;
	struct error err;
};

/* Prepares bytes in a worker of its own; the caller frees data. */
static struct sample prepare(const struct prep_config *config, const void *bytes,
			     size_t size, uint64_t seed)
{
	struct prep *prep = prep_open(config, NULL);
	struct prep_worker *worker;
	struct sample sample = {0};

	assert_non_null(prep);
	worker = prep_worker_new(prep);
	assert_non_null(worker);
	sample.size = prep_sample_bytes(prep);
	sample.data = aligned_alloc(64, (sample.size + 63) / 64 * 64);
	assert_non_null(sample.data);
	sample.result = prep_run(worker, bytes, size, seed, sample.data, &sample.err);
	prep_worker_free(worker);
	prep_close(prep);
	return sample;
}

static struct sample prepare_picture(const struct prep_config *config,
				     const struct picture *picture, uint64_t seed)
{
	size_t size;
	unsigned char *bytes = picture_jpeg(picture, &size);
	struct sample sample = prepare(config, bytes, size, seed);

	free(bytes);
	return sample;
}

TEST(a_seed_gives_the_same_sample_and_another_seed_another)
{
	const struct picture picture = {.width = 300, .height = 200, .h = 2, .v = 2};
	struct sample a = prepare_picture(&prep_defaults, &picture, 5);
	struct sample b = prepare_picture(&prep_defaults, &picture, 5);
	struct sample c = prepare_picture(&prep_defaults, &picture, 6);

	assert_int_equal(a.result, 0);
	assert_int_equal(a.size, 3 * 224 * 224 * sizeof(float));
	assert_memory_equal(a.data, b.data, a.size);
	assert_memory_not_equal(a.data, c.data, a.size);
	free(a.data);
	free(b.data);
	free(c.data);
}

TEST(raw_delivers_the_head_and_zeros)
{
	struct prep_config config = prep_defaults;
	struct sample sample;
	unsigned char bytes[20];

	config.op = "raw";
	config.type = PREP_U8;
	config.size = 2;
	memset(bytes, 7, sizeof(bytes));
	sample = prepare(&config, bytes, 5, 0);
	assert_int_equal(sample.size, 12);
	assert_memory_equal(sample.data, "\7\7\7\7\7\0\0\0\0\0\0\0", 12);
	free(sample.data);
	sample = prepare(&config, bytes, sizeof(bytes), 0);
	assert_memory_equal(sample.data, bytes, 12);
	free(sample.data);
}

static const struct picture photo = {.width = 120, .height = 90, .h = 2, .v = 2};

static struct sample prepare_as(enum prep_layout layout, enum prep_type type)
{
	struct prep_config config = prep_defaults;
	struct sample sample;

	config.size = 37; /* no multiple of any vector */
	config.layout = layout;
	config.type = type;
	sample = prepare_picture(&config, &photo, 3);
	assert_int_equal(sample.result, 0);
	return sample;
}

/* Element c, i of a sample of either layout. */
static size_t element(enum prep_layout layout, size_t c, size_t i)
{
	return layout == PREP_NCHW ? c * 37 * 37 + i : 3 * i + c;
}

TEST(both_layouts_hold_the_same_values)
{
	for (int type = PREP_F32; type <= PREP_U8; type++) {
		struct sample planes = prepare_as(PREP_NCHW, (enum prep_type)type);
		struct sample pixels = prepare_as(PREP_NHWC, (enum prep_type)type);
		size_t bytes = planes.size / (3 * 37 * 37);

		assert_int_equal(planes.size, pixels.size);
		for (size_t c = 0; c < 3; c++)
			for (size_t i = 0; i < 37 * 37; i++)
				assert_memory_equal(
					(char *)planes.data +
						bytes * element(PREP_NCHW, c, i),
					(char *)pixels.data +
						bytes * element(PREP_NHWC, c, i),
					bytes);
		free(planes.data);
		free(pixels.data);
	}
}

TEST(bytes_are_the_rounded_floats)
{
	struct sample floats = prepare_as(PREP_NCHW, PREP_F32);
	struct sample bytes = prepare_as(PREP_NCHW, PREP_U8);

	for (size_t i = 0; i < bytes.size; i++) {
		size_t c = i / (37 * 37);
		float value = ((float *)floats.data)[i];

		value = (value * prep_defaults.std[c] + prep_defaults.mean[c]) * 255;
		assert_true(fabsf(value - ((uint8_t *)bytes.data)[i]) < .501f);
	}
	free(floats.data);
	free(bytes.data);
}

/* What a binary16 stands for. */
static double half_value(uint16_t half)
{
	int exponent = half >> 10 & 31, fraction = half & 1023;
	double size = exponent == 0    ? ldexp(fraction, -24)
		      : exponent == 31 ? INFINITY
				       : ldexp(1024 + fraction, exponent - 25);

	return half & 0x8000 ? -size : size;
}

TEST(halves_are_the_rounded_floats)
{
	struct sample floats = prepare_as(PREP_NHWC, PREP_F32);
	struct sample halves = prepare_as(PREP_NHWC, PREP_F16);

	for (size_t i = 0; i < halves.size / 2; i++) {
		double value = ((float *)floats.data)[i];
		double error = half_value(((uint16_t *)halves.data)[i]) - value;

		assert_true(fabs(error) <= ldexp(fabs(value), -11) + 0x1p-25);
	}
	free(floats.data);
	free(halves.data);
}

TEST(a_flip_mirrors_the_same_crop)
{
	struct prep_config config = prep_defaults;
	struct sample plain, flipped;
	const size_t size = config.size = 40;

	config.flip = 0;
	plain = prepare_picture(&config, &photo, 8);
	config.flip = 1;
	flipped = prepare_picture(&config, &photo, 8);
	for (size_t row = 0; row < 3 * size; row++)
		for (size_t x = 0; x < size; x++)
			assert_memory_equal((float *)plain.data + row * size + x,
					    (float *)flipped.data + row * size + size -
						    1 - x,
					    sizeof(float));
	free(plain.data);
	free(flipped.data);
}

TEST(writes_nothing_outside_of_the_sample)
{
	enum { GUARD = 64 };

	for (unsigned size = 1; size < 70; size++) {
		struct prep_config config = prep_defaults;
		struct prep *prep;
		struct prep_worker *worker;
		unsigned char *bytes, *room;
		size_t length, sample;

		config.size = size;
		config.type = (enum prep_type)(size % 3);
		config.layout = (enum prep_layout)(size / 3 % 2);
		prep = prep_open(&config, NULL);
		worker = prep_worker_new(prep);
		sample = prep_sample_bytes(prep);
		room = aligned_alloc(64, (sample + 2 * GUARD + 63) / 64 * 64);
		memset(room, 0x5a, sample + 2 * GUARD);
		bytes = picture_jpeg(&photo, &length);
		assert_int_equal(
			prep_run(worker, bytes, length, size, room + GUARD, NULL), 0);
		for (size_t i = 0; i < GUARD; i++) {
			assert_int_equal(room[i], 0x5a);
			assert_int_equal(room[GUARD + sample + i], 0x5a);
		}
		free(room);
		free(bytes);
		prep_worker_free(worker);
		prep_close(prep);
	}
}

/* Cut anywhere, an image is refused in one line, or its sample is the right one. */
static void check_cuts(const struct picture *picture)
{
	struct prep_config config = prep_defaults;
	size_t size;
	unsigned char *bytes = picture_jpeg(picture, &size);
	struct sample whole;
	unsigned refused = 0;

	config.size = 16;
	whole = prepare(&config, bytes, size, 9);
	assert_int_equal(whole.result, 0);
	for (size_t cut = 0; cut < size; cut += 10) {
		unsigned char *head = malloc(cut + 1); /* so that its end is its end */
		struct sample sample;

		memcpy(head, bytes, cut);
		sample = prepare(&config, head, cut, 9);
		if (sample.result == 0) {
			assert_memory_equal(sample.data, whole.data, whole.size);
		} else {
			assert_true(sample.result == -EBADMSG ||
				    sample.result == -EFBIG);
			assert_int_equal(sample.err.code, -sample.result);
			assert_null(strchr(sample.err.message, '\n'));
			refused++;
		}
		free(sample.data);
		free(head);
	}
	assert_true(refused >= size / 10 - 1);
	free(whole.data);
	free(bytes);
}

TEST(a_cut_image_is_refused_or_right)
{
	check_cuts(&photo);
	check_cuts(&(struct picture){80, 60, .progressive = true, .h = 2, .v = 2});
	check_cuts(&(struct picture){80, 60, .restart = 1, .orientation = 6});
	check_cuts(&(struct picture){80, 60, .color = PICTURE_YCCK});
	check_cuts(&(struct picture){80, 60, .color = PICTURE_GRAY});
}

TEST(a_worker_is_fit_after_a_failure)
{
	struct prep *prep = prep_open(&prep_defaults, NULL);
	struct prep_worker *worker = prep_worker_new(prep);
	struct sample want = prepare_picture(&prep_defaults, &photo, 4);
	void *out = malloc(want.size);
	size_t size;
	unsigned char *bytes = picture_jpeg(&photo, &size);

	for (size_t cut = 1; cut < 10; cut++) {
		assert_int_equal(prep_run(worker, bytes, size * cut / 10, 4, out, NULL),
				 -EBADMSG);
		assert_int_equal(prep_run(worker, bytes, size, 4, out, NULL), 0);
		assert_memory_equal(out, want.data, want.size);
	}
	free(bytes);
	free(out);
	free(want.data);
	prep_worker_free(worker);
	prep_close(prep);
}

struct thread {
	pthread_t id;
	const struct prep *prep;
	const unsigned char *bytes;
	size_t size;
	void *out;
};

static void *prepare_many(void *argument)
{
	struct thread *thread = argument;
	struct prep_worker *worker = prep_worker_new(thread->prep);

	for (uint64_t seed = 0; seed < 20; seed++)
		prep_run(worker, thread->bytes, thread->size, seed, thread->out, NULL);
	prep_worker_free(worker);
	return NULL;
}

TEST(threads_share_a_prep)
{
	enum { THREADS = 4 };
	struct prep *prep = prep_open(&prep_defaults, NULL);
	struct thread threads[THREADS];
	size_t size;
	unsigned char *bytes = picture_jpeg(&photo, &size);

	for (int i = 0; i < THREADS; i++) {
		threads[i] =
			(struct thread){.prep = prep, .bytes = bytes, .size = size};
		threads[i].out = malloc(prep_sample_bytes(prep));
		pthread_create(&threads[i].id, NULL, prepare_many, &threads[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	for (int i = 0; i < THREADS; i++) {
		assert_memory_equal(threads[i].out, threads[0].out,
				    prep_sample_bytes(prep));
		if (i > 0)
			free(threads[i].out);
	}
	free(threads[0].out);
	free(bytes);
	prep_close(prep);
}

static void assert_refused(const struct prep_config *config, const char *why)
{
	struct error err = {0};

	assert_null(prep_open(config, &err));
	assert_int_equal(err.code, EINVAL);
	assert_string_equal(err.message, why);
}

TEST(a_config_that_makes_no_sense_is_refused)
{
	struct prep_config config = prep_defaults;

	config.op = "video";
	assert_refused(
		&config,
		"no prep op is called 'video': image, raw, tokens and audio are");
	config = prep_defaults;
	config.size = 0;
	assert_refused(&config, "prep size 0 is not from 1 to 4096");
	config = prep_defaults;
	config.evaluate = true;
	config.resize = 200;
	assert_refused(&config,
		       "prep cannot crop 224 pixels out of a short side of 200");
	config = prep_defaults;
	config.scale[0] = 0;
	assert_refused(&config, "prep scale and ratio need 0 < lowest <= highest");
	config = prep_defaults;
	config.flip = NAN;
	assert_refused(&config, "prep flip nan is no probability");
	config = prep_defaults;
	config.std[1] = 0;
	assert_refused(&config, "prep mean and std must be finite and std not 0");
	config = prep_defaults;
	config.type = PREP_I64;
	assert_refused(&config, "a picture's numbers are no int64");
}

/* Prepares with the nth allocation of a new worker's run failing. */
static int run_short_of_memory(const struct prep *prep, const unsigned char *bytes,
			       size_t size, unsigned nth)
{
	struct prep_worker *worker = prep_worker_new(prep);
	struct error err = {0};
	void *out = malloc(prep_sample_bytes(prep));
	int result;

	nomem_at(nth);
	result = prep_run(worker, bytes, size, 0, out, &err);
	nomem_at(0);
	assert_true(result == 0 || result == -ENOMEM);
	assert_int_equal(err.code, -result);
	assert_int_equal(prep_run(worker, bytes, size, 0, out, NULL), 0);
	prep_worker_free(worker);
	free(out);
	return result;
}

TEST(no_memory_is_said_and_survived)
{
	struct prep *prep = NULL;
	struct prep_worker *worker = NULL;
	size_t size;
	unsigned char *bytes =
		picture_jpeg(&(struct picture){50, 40, .orientation = 6}, &size);
	unsigned open, new, run = 1;

	for (open = 0; prep == NULL; open++) {
		struct error err = {0};

		nomem_at(open + 1);
		prep = prep_open(&prep_defaults, &err);
		assert_int_equal(err.code, prep == NULL ? ENOMEM : 0);
	}
	for (new = 0; worker == NULL; new ++) {
		nomem_at(new + 1);
		worker = prep_worker_new(prep);
	}
	nomem_at(0);
	while (run_short_of_memory(prep, bytes, size, run) < 0)
		run++;
	assert_int_equal(open, 2);
	assert_true(new > 4);
	assert_true(run > 6); /* tables, block, ring, window, square, rows */
	free(bytes);
	prep_worker_free(worker);
	prep_close(prep);
}
