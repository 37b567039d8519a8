/*
 * crc32c.h - the Castagnoli checksum of iSCSI (RFC 3720, appendix B.4), with which
 * TFRecord files are sealed: by the processor's own instruction where it has one. Any
 * thread.
 */
#ifndef DSA_CRC32C_H
#define DSA_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what came before, which has `before` (nothing: 0), and these bytes. */
uint32_t crc32c(uint32_t before, const void *bytes, size_t size);

/* The same without the instruction: for processors that lack it, and to compare. */
uint32_t crc32c_portable(uint32_t before, const void *bytes, size_t size);

/* As TFRecord files keep it: rotated and moved, because a checksum over bytes that hold
 * their own checksum says little. */
uint32_t crc32c_masked(uint32_t checksum);

#endif
