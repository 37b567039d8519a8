/* format_gpu.c - what devices did, in a line. */
#include "reports/common/escape.h"
#include "reports/common/format.h"

enum { SHOWN = 4 }; /* devices */

/* "busy 62.1%, only copying 3.0%, idle for data 30.2%, idle else 4.7%" */
static void format_gpu_parts(FILE *out, const struct profile_device *row)
{
	char busy[FORMAT_SIZE], copy[FORMAT_SIZE], data[FORMAT_SIZE], host[FORMAT_SIZE];

	fprintf(out, "busy %s, only copying %s, idle for data %s, idle else %s",
		format_percent(busy, row->busy_s / row->length_s),
		format_percent(copy, row->copy_s / row->length_s),
		format_percent(data, row->data_s / row->length_s),
		format_percent(host, row->host_s / row->length_s));
}

void format_gpus(FILE *out, const struct profile *profile)
{
	bool watched = profile->devices_lost != UNKNOWN;
	unsigned shown = 0;

	if (profile->devices_by == NULL)
		return;
	if (!watched) {
		fputs("not seen: ", out);
		escape_plain(out, profile->devices_by);
		return;
	}
	for (size_t i = 0; i < profile->device_count && shown < SHOWN; i++) {
		const struct profile_device *row = &profile->devices[i];

		if (row->kind.id != TRACE_REAL || !(row->length_s > 0))
			continue;
		fprintf(out, "%sdevice %llu ", shown++ > 0 ? "; " : "",
			(unsigned long long)row->device);
		format_gpu_parts(out, row);
	}
	if (shown == 0)
		fputs("it did nothing in windows that count", out);
	if (profile->devices_lost > 0)
		fprintf(out, "; %llu records were lost",
			(unsigned long long)profile->devices_lost);
}
