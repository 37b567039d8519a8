/* crc32c.c - eight bytes an instruction where the processor has one, else a table. */
#include "loader/base/bytes/crc32c.h"

#include <stdbool.h>
#include <string.h>

uint32_t crc32c_masked(uint32_t checksum)
{
	return (checksum >> 15 | checksum << 17) + UINT32_C(0xa282ead8);
}

/* What becomes of a byte is the sum (xor) of what becomes of its bits, eight remainders. */
#define BIT(i, bit, remainder) ((i) >> (bit)&1 ? UINT32_C(remainder) : 0)
#define SUM(i, a, b, c, d, e, f, g, h)                                                 \
	(BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^    \
	 BIT(i, 5, f) ^ BIT(i, 6, g) ^ BIT(i, 7, h))
#define FOUR(of, i) of(i), of((i) + 1), of((i) + 2), of((i) + 3)
#define SIXTEEN(of, i)                                                                 \
	FOUR(of, i), FOUR(of, (i) + 4), FOUR(of, (i) + 8), FOUR(of, (i) + 12)
#define QUARTER(of, i)                                                                 \
	SIXTEEN(of, i), SIXTEEN(of, (i) + 16), SIXTEEN(of, (i) + 32),                  \
		SIXTEEN(of, (i) + 48)
#define ALL(of)                                                                        \
	{                                                                              \
		QUARTER(of, 0), QUARTER(of, 64), QUARTER(of, 128), QUARTER(of, 192)    \
	}

/* Of the lowest byte, when one byte goes past. */
#define ONE(i)                                                                         \
	SUM(i, 0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, \
	    0x417b1dbc, 0x82f63b78)

static const uint32_t crc32c_table[256] = ALL(ONE);

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

enum { LANE = 256 }; /* bytes */

/* Of each of the four bytes, when a lane of zeros goes past. */
#define LANE0(i)                                                                       \
	SUM(i, 0xdcb17aa4, 0xbc8e83b9, 0x7cf17183, 0xf9e2e306, 0xf629b0fd, 0xe9bf170b, \
	    0xd69258e7, 0xa8c8c73f)
#define LANE1(i)                                                                       \
	SUM(i, 0x547df88f, 0xa8fbf11e, 0x541b94cd, 0xa837299a, 0x558225c5, 0xab044b8a, \
	    0x53e4e1e5, 0xa7c9c3ca)
#define LANE2(i)                                                                       \
	SUM(i, 0x4a7ff165, 0x94ffe2ca, 0x2c13b365, 0x582766ca, 0xb04ecd94, 0x6571edd9, \
	    0xcae3dbb2, 0x902bc195)
#define LANE3(i)                                                                       \
	SUM(i, 0x25bbf5db, 0x4b77ebb6, 0x96efd76c, 0x2833d829, 0x5067b052, 0xa0cf60a4, \
	    0x4472b7b9, 0x88e56f72)

static const uint32_t crc32c_lane[4][256] = {ALL(LANE0), ALL(LANE1), ALL(LANE2),
					     ALL(LANE3)};

static uint32_t crc32c_pass_lane(uint32_t state)
{
	return crc32c_lane[0][state & 0xff] ^ crc32c_lane[1][state >> 8 & 0xff] ^
	       crc32c_lane[2][state >> 16 & 0xff] ^ crc32c_lane[3][state >> 24];
}

TARGET static uint32_t crc32c_eight(uint32_t state, const unsigned char *bytes)
{
	uint64_t eight;

	memcpy(&eight, bytes, 8);
	return ADD_EIGHT(state, eight);
}

/* Three lanes at a time: an instruction waits for the one before it in its own lane. */
TARGET static uint32_t crc32c_lanes(uint32_t state, const unsigned char *bytes)
{
	uint32_t second = 0, third = 0;

	for (const unsigned char *end = bytes + LANE; bytes < end; bytes += 8) {
		state = crc32c_eight(state, bytes);
		second = crc32c_eight(second, bytes + LANE);
		third = crc32c_eight(third, bytes + 2 * LANE);
	}
	return crc32c_pass_lane(crc32c_pass_lane(state) ^ second) ^ third;
}

TARGET static uint32_t crc32c_instruction(uint32_t before, const unsigned char *bytes,
					  size_t size)
{
	uint32_t state = ~before;
	size_t i = 0;

	for (; size - i >= 3 * LANE; i += 3 * LANE)
		state = crc32c_lanes(state, bytes + i);
	for (; size - i >= 8; i += 8)
		state = crc32c_eight(state, bytes + i);
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
