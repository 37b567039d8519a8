"""TFRecord files, written as their format says: for tests."""

import struct


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        yield byte


TABLE = list(_table())


def checksum(data):
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + checksum(length) + data + checksum(data)


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(value):
    if isinstance(value, float):
        return field(2, field(1, struct.pack("<f", value)))
    if isinstance(value, int):
        return field(3, field(1, varint(value & (1 << 64) - 1)))
    return field(1, field(1, value if isinstance(value, bytes) else value.encode()))


def example(features):
    """A tf.train.Example of a dict."""
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value)))
                             for name, value in features.items()))
