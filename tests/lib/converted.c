/* converted.c - the reference of the kernels that convert batches on a device. */
#include "tests/lib/converted.h"

#include <string.h>

/* A number below the least normal one is a count of 2^-24. */
static uint32_t half_small(uint32_t mantissa, int exponent)
{
	int shift = 126 - exponent;
	uint32_t half, rest, tie;

	if (shift > 24)
		return 0;
	half = mantissa >> shift;
	rest = mantissa & ((UINT32_C(1) << shift) - 1);
	tie = UINT32_C(1) << (shift - 1);
	return half + (rest > tie || (rest == tie && (half & 1) != 0));
}

uint16_t converted_half(float value)
{
	uint32_t bits, sign, mantissa, half, rest;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	exponent = (int)(bits >> 23 & 255);
	mantissa = bits & 0x7fffff;
	if (exponent == 255)
		return (uint16_t)(sign | 0x7c00 | (mantissa != 0 ? 0x200 : 0));
	if (exponent >= 127 + 16)
		return (uint16_t)(sign | 0x7c00);
	if (exponent < 127 - 14)
		return (uint16_t)(sign | half_small(mantissa | 0x800000, exponent));
	half = (uint32_t)(exponent - 112) << 10 | mantissa >> 13;
	rest = mantissa & 0x1fff;
	half += rest > 0x1000 || (rest == 0x1000 && (half & 1) != 0);
	return (uint16_t)(sign | half);
}

/* Two roundings, never one. */
static float converted_level(const struct converted *how, uint8_t level,
			     unsigned colour)
{
	volatile float product = (float)level * how->factor[colour];

	return product + how->offset[colour];
}

static void converted_store(const struct converted *how, uint8_t level, unsigned colour,
			    void *to, uint64_t at)
{
	float value;

	if (how->type == CONVERTED_U8) {
		((uint8_t *)to)[at] = level;
		return;
	}
	value = converted_level(how, level, colour);
	if (how->type == CONVERTED_F32)
		((float *)to)[at] = value;
	else
		((uint16_t *)to)[at] = converted_half(value);
}

void converted(const struct converted *how, const uint8_t *from, void *to,
	       uint32_t count)
{
	for (uint64_t n = 0; n < count; n++)
		for (uint64_t p = 0; p < how->area; p++)
			for (unsigned c = 0; c < 3; c++)
				converted_store(how, *from++, c, to,
						3 * n * how->area + p * how->step +
							(uint64_t)c * how->plane);
}
