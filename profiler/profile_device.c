/* profile_device.c - what is known of a run by what its devices did. */
#include "profiler/profile.h"

double profile_kernel_part(const struct profile *profile)
{
	const struct profile_device *most = NULL;

	for (size_t i = 0; i < profile->device_count; i++) {
		const struct profile_device *row = &profile->devices[i];

		if (row->kind.id == TRACE_SYNTHETIC && row->length_s > 0 &&
		    (most == NULL || row->busy_s > most->busy_s))
			most = row;
	}
	return most != NULL ? fmin(1, most->busy_s / most->length_s) : NAN;
}
