/*
 * describe_run.h - what is known of a run without any measurement: when, what, where.
 */
#ifndef DSA_DESCRIBE_RUN_H
#define DSA_DESCRIBE_RUN_H

#include "profiler/host/machine.h"
#include "profiler/run/measure.h"

struct describe_run {
	const struct measure_config *config;
	const struct machine *machine;
	enum measure_protocol protocol;
	double budget_s, precision; /* NAN: it has none */
};

/*
 * Writes the metadata of the run into a job's session (run_metadata.h): version, time,
 * command, settings, environment, and the storage once a data set is known. 0 or
 * -ENOMEM.
 */
int describe_run(const struct describe_run *run, unsigned job, struct trace *trace);

#endif
