/* stage.c - the table of stages, and how a step is split among them. */
#include "profiler/stage.h"

#include <math.h>

const struct stage_info stage_table[STAGES] = {
#define STAGE_INFO(id, word, text, absent, ...)                                        \
	[STAGE_##id] = {.key = word, .label = text, .optional = absent, __VA_ARGS__},
#define STAGE_STEP(id, word, absent, waits, ...)                                       \
	STAGE_INFO(id, word, word, absent, __VA_ARGS__)
#define STAGE_STALL(id, word, absent, waits, ...)                                      \
	STAGE_INFO(id, word, word " stall", absent, __VA_ARGS__)
	STAGE_COMPUTE_ROW(STAGE_STEP) STAGE_STALLS(STAGE_STALL)};

enum stage stage_of_kind(enum trace_kind kind)
{
	int stage = 0;

	while (stage < STAGES && stage_table[stage].kind != kind)
		stage++;
	return (enum stage)stage;
}

bool stage_applies(enum stage stage, const struct trace_loader *loader)
{
	return !stage_table[stage].optional || loader->device[0] != '\0';
}

unsigned stage_count(const struct trace_loader *loader)
{
	unsigned count = 0;

	for (int i = 0; i < STAGES; i++)
		count += stage_applies((enum stage)i, loader);
	return count;
}

void stage_split(const double times[STAGES], double shares[STAGES])
{
	double before = 0;

	for (int i = 0; i < STAGES; i++) {
		shares[i] = (times[i] - before) / times[STAGE_REAL];
		if (!isnan(times[i]) || !stage_table[i].optional)
			before = times[i];
	}
}
