/* crc32c.c - eight bytes an instruction where the processor has one, else a table. */
#include "loader/base/bytes/crc32c.h"

#include <stdbool.h>
#include <string.h>

uint32_t crc32c_masked(uint32_t checksum)
{
	return (checksum >> 15 | checksum << 17) + UINT32_C(0xa282ead8);
}

/* The remainder of a byte is the sum (xor) of those of its bits. */
#define BIT(i, bit, remainder) ((i) >> (bit)&1 ? UINT32_C(remainder) : 0)
#define ONE(i)                                                                         \
	(BIT(i, 0, 0xf26b8303) ^ BIT(i, 1, 0xe13b70f7) ^ BIT(i, 2, 0xc79a971f) ^       \
	 BIT(i, 3, 0x8ad958cf) ^ BIT(i, 4, 0x105ec76f) ^ BIT(i, 5, 0x20bd8ede) ^       \
	 BIT(i, 6, 0x417b1dbc) ^ BIT(i, 7, 0x82f63b78))
#define FOUR(i)    ONE(i), ONE((i) + 1), ONE((i) + 2), ONE((i) + 3)
#define SIXTEEN(i) FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)
#define QUARTER(i) SIXTEEN(i), SIXTEEN((i) + 16), SIXTEEN((i) + 32), SIXTEEN((i) + 48)

static const uint32_t crc32c_table[256] = {QUARTER(0), QUARTER(64), QUARTER(128),
					   QUARTER(192)};

uint32_t crc32c_portable(uint32_t before, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	uint32_t state = ~before;

	for (size_t i = 0; i < size; i++)
		state = state >> 8 ^ crc32c_table[(state ^ byte[i]) & 0xff];
	return ~state;
}

/* The compiler's names for the instruction. On arm64 it is there if the compiler was told
 * so (-march=armv8-a+crc and later). */
#if defined(__x86_64__)
#include <nmmintrin.h>
#define TARGET            __attribute__((target("sse4.2")))
#define ADD_BYTE(to, by)  _mm_crc32_u8(to, by)
#define ADD_EIGHT(to, by) ((uint32_t)_mm_crc32_u64(to, by))
#elif defined(__ARM_FEATURE_CRC32) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#define TARGET
#define ADD_BYTE(to, by)  __crc32cb(to, by)
#define ADD_EIGHT(to, by) __crc32cd(to, by)
#endif

#ifdef TARGET
static bool crc32c_has_instruction(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("sse4.2");
#else
	return true;
#endif
}

TARGET static uint32_t crc32c_instruction(uint32_t before, const unsigned char *bytes,
					  size_t size)
{
	uint32_t state = ~before;
	size_t i = 0;

	for (; size - i >= 8; i += 8) {
		uint64_t eight;

		memcpy(&eight, bytes + i, 8);
		state = ADD_EIGHT(state, eight);
	}
	for (; i < size; i++)
		state = ADD_BYTE(state, bytes[i]);
	return ~state;
}
#endif

uint32_t crc32c(uint32_t before, const void *bytes, size_t size)
{
#ifdef TARGET
	if (crc32c_has_instruction())
		return crc32c_instruction(before, bytes, size);
#endif
	return crc32c_portable(before, bytes, size);
}
