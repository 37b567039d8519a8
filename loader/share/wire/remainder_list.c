#include "loader/share/wire/remainder_list.h"

#include <string.h>

uint32_t remainder_list(const struct protocol_remainder *rest, const uint32_t *numbers,
			uint64_t next, uint64_t remaining, uint32_t *samples)
{
	const uint32_t *behind = numbers + (rest->end - rest->first);
	uint64_t more = rest->count;
	uint32_t count = 0;

	for (; next < rest->end && remaining > 0; next++) {
		uint32_t number = numbers[next - rest->first];

		remaining -= number != PROTOCOL_NOTHING;
		if (number < PROTOCOL_VOID)
			samples[count++] = number;
	}
	remaining -= rest->voids < remaining ? rest->voids : remaining;
	if (more > remaining)
		more = remaining;
	memcpy(samples + count, behind, more * sizeof(*samples));
	return count + (uint32_t)more;
}
