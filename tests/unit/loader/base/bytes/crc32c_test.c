#include "loader/base/bytes/crc32c.h"
#include "loader/base/random.h"
#include "tests/lib/test.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void assert_checksum(const void *bytes, size_t size, uint32_t expected)
{
	assert_int_equal(crc32c(0, bytes, size), expected);
	assert_int_equal(crc32c_portable(0, bytes, size), expected);
}

/* RFC 3720, B.4, whose bytes stand in the order in which they are sent; and the check
 * value that catalogues of checksums have for "123456789". */
TEST(published_checksums_come_out)
{
	static const unsigned char read_command[48] = {
		0x01,        0xc0,        [16] = 0x14, [22] = 0x04,
		[27] = 0x14, [31] = 0x18, 0x28,        [40] = 0x02,
	};
	unsigned char bytes[32];

	assert_checksum("", 0, 0);
	assert_checksum("123456789", 9, 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_checksum(bytes, sizeof(bytes), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_checksum(bytes, sizeof(bytes), 0x62a8ab43);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_checksum(bytes, sizeof(bytes), 0x46dd794e);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(31 - i);
	assert_checksum(bytes, sizeof(bytes), 0x113fdb5c);
	assert_checksum(read_command, sizeof(read_command), 0xd9963a56);
}

/* Of any length, at any address, at once or in two parts. */
TEST(both_ways_give_the_same)
{
	static unsigned char bytes[2500];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random_mix(i);
	for (size_t from = 0; from < 9; from++)
		for (size_t size = 0; from + size <= sizeof(bytes);
		     size += size < 300 ? 7 : 101) {
			uint32_t whole = crc32c_portable(0, bytes + from, size);
			uint32_t half = crc32c(0, bytes + from, size / 2);

			assert_int_equal(crc32c(0, bytes + from, size), whole);
			assert_int_equal(
				crc32c(half, bytes + from + size / 2, size - size / 2),
				whole);
		}
}

/* A record of 24 bytes as TensorBoard's own tests have it: the checksums of its length
 * and of its bytes. */
TEST(records_have_masked_checksums)
{
	static const unsigned char length[8] = {24};
	static const char event[] = "\t\0\0\xc0%\xddu\xd5"
				    "A\x1a\rbrain.Event:1";

	assert_int_equal(crc32c_masked(crc32c(0, length, 8)), 0x224b7fa3);
	assert_int_equal(crc32c_masked(crc32c(0, event, 24)), 0x8d32f3ec);
}
