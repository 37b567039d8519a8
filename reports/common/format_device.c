/* format_device.c - what is copied to the device, and how. */
#include "reports/common/format.h"

#include <string.h>

void format_device(FILE *out, const struct profile *profile)
{
	char size[FORMAT_SIZE], time[FORMAT_SIZE];

	if (profile->device == NULL || profile->device_sample_bytes == UNKNOWN)
		return;
	format_bytes(size, (double)profile->device_sample_bytes);
	fprintf(out, "%s of each sample copied to %s", size, profile->device);
	if (isfinite(profile->device_copy_s.value))
		fprintf(out, " in %s",
			format_seconds(time, profile->device_copy_s.value));
	if (profile->transfer != NULL && strcmp(profile->transfer, "uint8") == 0)
		fputs(", as bytes that it converts", out);
	if (profile->device_memory != NULL &&
	    strcmp(profile->device_memory, "unpinned") == 0)
		fputs("; from memory that could not be pinned, which is slower, "
		      "and the loader's threads wait for it",
		      out);
}
