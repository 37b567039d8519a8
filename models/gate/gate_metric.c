/* gate_metric.c - the table of metrics, and their values from a profile. */
#include "models/gate/gate_metric.h"

#include <string.h>

/* Numbers of the metrics in the table and in arrays of values. */
enum {
	OPENS,
	READS,
	READ_BYTES,
	MEAN_READ,
	HITS,
	PIXELS,
	SKIPPED,
	DEVICE_BYTES,
	PROGRAM_READS,
	PROGRAM_BYTES,
	LAST_STALL,
	DATA_STALL = LAST_STALL + STAGES - 1,
	CPU,
	RATE,
};

const struct gate_metric gate_metrics[GATE_METRICS] = {
	[OPENS] = {"opens_per_sample", "", "files opened, or GETs, to read a sample",
		   GATE_EXACT, true, false, false, 0, NAN},
	[READS] = {"reads_per_sample", "", "calls that read for a sample", GATE_EXACT,
		   true, false, false, 0, NAN},
	[READ_BYTES] = {"read_bytes_per_sample", "B", "bytes read for a sample",
			GATE_EXACT, true, false, false, 0, NAN},
	[MEAN_READ] = {"mean_read_bytes", "B", "what one read brings", GATE_EXACT,
		       false, false, false, 0, NAN},
	[HITS] = {"hits_per_sample", "share",
		  "samples that came out of the loader's cache", GATE_EXACT, false,
		  true, false, 0, NAN},
	[PIXELS] = {"decoded_pixels_per_sample", "", "pixels decoded for a sample",
		    GATE_EXACT, true, false, false, 0, NAN},
	[SKIPPED] = {"skipped_samples", "", "samples that could not be used",
		     GATE_EXACT, true, false, false, 0, NAN},
	[DEVICE_BYTES] = {"device_bytes_per_sample", "B",
			  "bytes copied to the device for a sample", GATE_EXACT, true,
			  false, false, 0, NAN},
	[PROGRAM_READS] = {"program_reads_per_sample", "",
			   "calls of the program itself that read, for a sample",
			   GATE_EXACT, true, false, true, INFINITY, NAN},
	[PROGRAM_BYTES] = {"program_bytes_per_sample", "B",
			   "bytes that the program itself reads for a sample",
			   GATE_EXACT, true, false, true, INFINITY, NAN},
#define GATE_STALL(id, key, optional, waits, ...)                                      \
	[LAST_STALL + STAGES - 1 - STAGE_##id] = {                                     \
		key "_stall", "share",  "share of a step that waits for " waits,       \
		GATE_RATIO,   true,     true,                                          \
		true,         INFINITY, .10},
	STAGE_STALLS(GATE_STALL)[DATA_STALL] = {"data_stall", "share",
						"share of a step that waits for data",
						GATE_RATIO, true, true, false, .05,
						.10},
	[CPU] = {"cpu_s_per_sample", "s", "CPU time of the whole process for a sample",
		 GATE_RATIO, true, false, false, INFINITY, .25},
	[RATE] = {"samples_per_s", "samples/s", "samples trained on a second",
		  GATE_RATE, false, false, false, .10, NAN},
};

int gate_metric_find(const char *name)
{
	for (int i = 0; i < GATE_METRICS; i++)
		if (strcmp(gate_metrics[i].name, name) == 0)
			return i;
	return -1;
}

int gate_metric_stall(int stage)
{
	return LAST_STALL + STAGES - 1 - stage;
}

void gate_metric_sum_stalls(double values[GATE_METRICS])
{
	double sum = 0;

	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++) {
		double share = values[gate_metric_stall(i)];

		if (!isnan(share) || !stage_table[i].optional)
			sum += share;
	}
	if (isnan(values[DATA_STALL]))
		values[DATA_STALL] = sum;
}

static void gate_metric_forget(double values[GATE_METRICS])
{
	for (int i = 0; i < GATE_METRICS; i++)
		values[i] = NAN;
}

void gate_metric_counted(const struct profile *counted, double values[GATE_METRICS])
{
	const struct profile_counted *count = &counted->counted;

	gate_metric_forget(values);
	values[OPENS] = profile_quotient(count->opens, count->samples);
	values[READS] = profile_quotient(count->reads, count->samples);
	values[READ_BYTES] = profile_quotient(count->read_bytes, count->samples);
	values[MEAN_READ] = profile_quotient(count->read_bytes, count->reads);
	values[HITS] = profile_quotient(count->hits, count->samples);
	values[PIXELS] = profile_quotient(count->decoded_pixels, count->samples);
	values[SKIPPED] = profile_quotient(count->skipped, 1);
	values[DEVICE_BYTES] = profile_quotient(count->device_bytes, count->samples);
	values[PROGRAM_READS] = profile_quotient(count->program_reads, count->samples);
	values[PROGRAM_BYTES] = profile_quotient(count->program_bytes, count->samples);
}

bool gate_metric_sees_hits(const struct profile *counted)
{
	const struct profile_counted *count = &counted->counted;

	return !profile_has_own_cache(counted) || count->hits != 0 ||
	       counted->dataset_samples == UNKNOWN ||
	       count->samples > counted->dataset_samples;
}

void gate_metric_timed(const struct profile *repetition, double values[GATE_METRICS])
{
	gate_metric_forget(values);
	for (int i = STAGE_COMPUTE + 1; i < STAGES; i++)
		values[gate_metric_stall(i)] = repetition->stalls[i].value;
	gate_metric_sum_stalls(values);
	values[CPU] = repetition->cpu_s_per_sample;
	values[RATE] = repetition->rates[TRACE_REAL].value;
}

double gate_metric_worse(const struct gate_metric *metric, double base, double now)
{
	double sign = metric->more_is_worse ? 1 : -1;

	if (now == base)
		return 0;
	if (metric->points)
		return sign * (now - base);
	return base > 0 && now >= 0 ? sign * (now / base - 1) : NAN;
}

double gate_metric_after(const struct gate_metric *metric, double base, double worse)
{
	double change = metric->more_is_worse ? worse : -worse;

	return metric->points ? base + change : base * (1 + change);
}
