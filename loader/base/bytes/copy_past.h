/* copy_past.h - copies samples that no cache keeps until they are read. */
#ifndef DSA_COPY_PAST_H
#define DSA_COPY_PAST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { COPY_PAST = 256 << 10 }; /* bytes of a sample from which on that is so */

/*
 * As memcpy(), of a piece of `whole` bytes. Of many, with stores that don't read what they
 * replace: half the time where both lie in memory. Other threads see the bytes after their
 * next synchronisation with this one, as ever.
 */
static inline void copy_past(void *to, const void *from, size_t size, size_t whole)
{
#ifdef __SSE2__
	unsigned char *out = to;
	const unsigned char *in = from;
	size_t head = -(uintptr_t)out % sizeof(__m128i);

	if (whole >= COPY_PAST && size >= head) {
		memcpy(out, in, head);
		for (; size - head >= sizeof(__m128i); head += sizeof(__m128i))
			_mm_stream_si128((void *)(out + head),
					 _mm_loadu_si128((const void *)(in + head)));
		_mm_sfence();
		to = out + head;
		from = in + head;
		size -= head;
	}
#else
	(void)whole;
#endif
	memcpy(to, from, size);
}

#endif
