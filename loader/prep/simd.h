/*
 * simd.h - the loops of kernel.h for vectors of LANES floats; included by kernel.c
 * once for each width, with LANES, TARGET and NAME(function) defined.
 *
 * A vector holds LANES / 4 quads. In a block a quad is one pixel, R G B and one more;
 * a transpose turns four pixels side by side into four quads of one channel, for all
 * rows of the block at once.
 */
#include "loader/filter.h"
#include "loader/prep/kernel.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h> /* only for what C cannot say: stores past the caches, halves */
#endif

#ifndef LANES
#define LANES  4
#define TARGET __attribute__((unused))
#define INLINE static inline
#define UNROLL
#define NAME(x) x##_4
#endif

#undef FLOATS
#undef INTS
#undef SHORTS
#undef BYTES
#undef LOW
#undef HIGH
#undef STREAM
#undef CONVERT
#if LANES == 4
#define STREAM _mm_stream_ps
#define LOW    0, 4, 1, 5
#define HIGH   2, 6, 3, 7
#elif LANES == 8
#define STREAM  _mm256_stream_ps
#define CONVERT _mm256_cvtps_ph
#define LOW     0, 8, 1, 9, 4, 12, 5, 13
#define HIGH    2, 10, 3, 11, 6, 14, 7, 15
#else
#define STREAM  _mm512_stream_ps
#define CONVERT _mm512_cvtps_ph
#define LOW     0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HIGH    2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#endif

#define FLOATS NAME(floats)
#define INTS   NAME(ints)
#define SHORTS NAME(shorts)
#define BYTES  NAME(bytes)

typedef float FLOATS __attribute__((vector_size(4 * LANES)));
typedef int32_t INTS __attribute__((vector_size(4 * LANES)));
typedef uint16_t SHORTS __attribute__((vector_size(2 * LANES)));
typedef uint8_t BYTES __attribute__((vector_size(LANES)));

/* Vectors behind one another. */
#define JOIN_4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define JOIN_8(a, b)                                                                   \
	__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,    \
				14, 15)

/* Interleaves the first, or last, halves of the quads of a and b. */
#define INTERLEAVE_LOW(a, b)  __builtin_shufflevector(a, b, LOW)
#define INTERLEAVE_HIGH(a, b) __builtin_shufflevector(a, b, HIGH)

TARGET static inline FLOATS NAME(load)(const float *at)
{
	FLOATS value;

	memcpy(&value, at, sizeof(value));
	return value;
}

TARGET static inline void NAME(put)(float *at, FLOATS value)
{
	memcpy(at, &value, sizeof(value));
}

/* Four pixels of one row. */
TARGET static inline ints_4 NAME(four)(const uint8_t *row)
{
	ints_4 pixels;

	memcpy(&pixels, row, sizeof(pixels));
	return pixels;
}

/* Four pixels of each row of the block. */
TARGET static inline INTS NAME(pixels)(const uint8_t *const *rows, size_t at)
{
#if LANES == 4
	return NAME(four)(rows[0] + at);
#else
	ints_8 upper = JOIN_4(NAME(four)(rows[0] + at), NAME(four)(rows[1] + at));
#if LANES == 8
	return upper;
#else
	ints_8 lower = JOIN_4(NAME(four)(rows[2] + at), NAME(four)(rows[3] + at));

	return JOIN_8(upper, lower);
#endif
#endif
}

TARGET static void NAME(interleave)(const uint8_t *const *rows, unsigned width,
				    float *block)
{
	for (unsigned x = 0; x < width; x += 4, block += 4 * LANES) {
		INTS pixels = NAME(pixels)(rows, (size_t)4 * x);
		FLOATS r = __builtin_convertvector(pixels & 255, FLOATS);
		FLOATS g = __builtin_convertvector(pixels >> 8 & 255, FLOATS);
		FLOATS b = __builtin_convertvector(pixels >> 16 & 255, FLOATS);
		FLOATS rb_low = INTERLEAVE_LOW(r, b);
		FLOATS rb_high = INTERLEAVE_HIGH(r, b);
		FLOATS gg_low = INTERLEAVE_LOW(g, g);
		FLOATS gg_high = INTERLEAVE_HIGH(g, g);

		NAME(put)(block, INTERLEAVE_LOW(rb_low, gg_low));
		NAME(put)(block + LANES, INTERLEAVE_HIGH(rb_low, gg_low));
		NAME(put)(block + 2 * LANES, INTERLEAVE_LOW(rb_high, gg_high));
		NAME(put)(block + 3 * LANES, INTERLEAVE_HIGH(rb_high, gg_high));
	}
}

/*
 * Output pixel x of all rows of the block: a quad each. Inlined with the taps that
 * most crops need as constants, it has no loop.
 */
TARGET INLINE FLOATS NAME(pixel)(const struct filter *filter, unsigned x,
				 const float *block, unsigned taps)
{
	const float *source = block + (size_t)filter->start[x] * LANES;
	const float *weight = filter->weight + (size_t)x * taps;
	FLOATS sum = {0};

	UNROLL
	for (unsigned k = 0; k < taps; k++) {
		FLOATS part = NAME(load)(source + (size_t)k * LANES) * weight[k];

		sum += part;
	}
	return sum;
}

/* Writes the quad of each row to where that row's pixel belongs. */
TARGET INLINE void NAME(scatter)(FLOATS quads, float *out, size_t stride)
{
	const union {
		FLOATS all;
		floats_4 quad[LANES / 4];
	} rows = {quads};

	UNROLL
	for (int row = 0; row < LANES / 4; row++)
		memcpy(out + (size_t)row * stride, &rows.quad[row], sizeof(floats_4));
}

TARGET INLINE void NAME(interleaved)(const struct filter *filter, const float *block,
				     const struct kernel_rows *to, unsigned taps)
{
	for (unsigned x = 0; x < filter->outputs; x++)
		NAME(scatter)
	(NAME(pixel)(filter, x, block, taps), to->out + (size_t)x * 3, to->stride);
}

TARGET INLINE void NAME(planar)(const struct filter *filter, const float *block,
				const struct kernel_rows *to, unsigned taps)
{
	float *out = to->out;

	for (unsigned x = 0; x < filter->outputs; x += 4, out += 4) {
		FLOATS p0 = NAME(pixel)(filter, x, block, taps);
		FLOATS p1 = NAME(pixel)(filter, x + 1, block, taps);
		FLOATS p2 = NAME(pixel)(filter, x + 2, block, taps);
		FLOATS p3 = NAME(pixel)(filter, x + 3, block, taps);
		FLOATS rg_even = INTERLEAVE_LOW(p0, p2);
		FLOATS rg_odd = INTERLEAVE_LOW(p1, p3);
		FLOATS b_even = INTERLEAVE_HIGH(p0, p2);
		FLOATS b_odd = INTERLEAVE_HIGH(p1, p3);

		NAME(scatter)(INTERLEAVE_LOW(rg_even, rg_odd), out, to->stride);
		NAME(scatter)
		(INTERLEAVE_HIGH(rg_even, rg_odd), out + to->plane, to->stride);
		NAME(scatter)
		(INTERLEAVE_LOW(b_even, b_odd), out + 2 * to->plane, to->stride);
	}
}

TARGET INLINE void NAME(either)(const struct filter *filter, const float *block,
				const struct kernel_rows *to, unsigned taps)
{
	if (to->plane == 0)
		NAME(interleaved)(filter, block, to, taps);
	else
		NAME(planar)(filter, block, to, taps);
}

TARGET static void NAME(horizontal)(const struct filter *filter, const float *block,
				    const struct kernel_rows *to)
{
	if (filter->taps == 2)
		NAME(either)(filter, block, to, 2);
	else if (filter->taps == 3)
		NAME(either)(filter, block, to, 3);
	else if (filter->taps == 4)
		NAME(either)(filter, block, to, 4);
	else if (filter->taps == 5)
		NAME(either)(filter, block, to, 5);
	else
		NAME(either)(filter, block, to, filter->taps);
}

TARGET static inline void NAME(store)(const struct kernel_sum *sum, size_t at,
				      FLOATS total)
{
	size_t column = sum->column + at;
	FLOATS scaled = total * NAME(load)(sum->factor + column);
	FLOATS value = scaled + NAME(load)(sum->offset + column);

#ifdef __x86_64__
	if (sum->streamed) {
		STREAM(sum->out + at, value);
		return;
	}
#endif
	NAME(put)(sum->out + at, value);
}

/* Four vectors at once: each weight is fetched once, and additions overlap. */
TARGET static size_t NAME(wide_columns)(const struct kernel_sum *sum)
{
	size_t at = 0;

	for (; at + 4 * LANES <= sum->count; at += 4 * LANES) {
		FLOATS a = {0}, b = {0}, c = {0}, d = {0};

		for (unsigned k = 0; k < sum->taps; k++) {
			const float *row = sum->rows[k] + sum->column + at;
			float weight = sum->weights[k];
			FLOATS a1 = NAME(load)(row) * weight;
			FLOATS b1 = NAME(load)(row + LANES) * weight;
			FLOATS c1 = NAME(load)(row + 2 * LANES) * weight;
			FLOATS d1 = NAME(load)(row + 3 * LANES) * weight;

			a += a1;
			b += b1;
			c += c1;
			d += d1;
		}
		NAME(store)(sum, at, a);
		NAME(store)(sum, at + LANES, b);
		NAME(store)(sum, at + 2 * LANES, c);
		NAME(store)(sum, at + 3 * LANES, d);
	}
	return at;
}

TARGET static void NAME(vertical)(const struct kernel_sum *sum)
{
	size_t at = NAME(wide_columns)(sum);

	for (; at + LANES <= sum->count; at += LANES) {
		FLOATS total = {0};

		for (unsigned k = 0; k < sum->taps; k++) {
			const float *row = sum->rows[k] + sum->column + at;
			FLOATS part = NAME(load)(row) * sum->weights[k];

			total += part;
		}
		NAME(store)(sum, at, total);
	}
	for (; at < sum->count; at++) {
		size_t column = sum->column + at;
		float total = 0;

		for (unsigned k = 0; k < sum->taps; k++) {
			float part = sum->rows[k][column] * sum->weights[k];

			total += part;
		}
		total *= sum->factor[column];
		sum->out[at] = total + sum->offset[column];
	}
}

TARGET static void NAME(to_bytes)(const float *values, size_t count, uint8_t *out)
{
	for (size_t at = 0; at < count; at += LANES) {
		INTS whole = __builtin_convertvector(NAME(load)(values + at), INTS);
		INTS over = whole > 255;
		SHORTS wide;
		BYTES bytes;

		whole = (whole & ~over) | (over & 255);
		wide = __builtin_convertvector(whole, SHORTS);
		bytes = __builtin_convertvector(wide, BYTES);
		if (at + LANES <= count)
			memcpy(out + at, &bytes, sizeof(bytes));
		else
			memcpy(out + at, &bytes, count - at);
	}
}

#if LANES == 4 || !defined(__x86_64__)
/*
 * Rounds by adding half a unit of the last kept place, less one bit when that place
 * is even. Halves too small to be normal are rounded by a float addition that moves
 * their last place to a float's.
 */
TARGET static inline SHORTS NAME(halves)(FLOATS value)
{
	const int32_t infinity = 0x7c00, least_normal = 0x38800000,
		      least_over = 0x47800000;
	INTS bits = (INTS)value;
	INTS sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
	INTS normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
	FLOATS small = (FLOATS)size + .5f;
	INTS subnormal = (INTS)small - 0x3f000000;
	INTS is_small = size < least_normal, is_over = size >= least_over;
	INTS half = (subnormal & is_small) | (normal & ~is_small);

	half = sign | (infinity & is_over) | (half & ~is_over);
	return __builtin_convertvector(half, SHORTS);
}
#else
TARGET static inline SHORTS NAME(halves)(FLOATS value)
{
	return (SHORTS)CONVERT(value, _MM_FROUND_TO_NEAREST_INT);
}
#endif

TARGET static void NAME(to_halves)(const float *values, size_t count, uint16_t *out)
{
	for (size_t at = 0; at < count; at += LANES) {
		SHORTS halves = NAME(halves)(NAME(load)(values + at));

		if (at + LANES <= count)
			memcpy(out + at, &halves, sizeof(halves));
		else
			memcpy(out + at, &halves, (count - at) * sizeof(*out));
	}
}

#undef LANES
#undef TARGET
#undef NAME
