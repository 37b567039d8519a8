/*
 * gate_config.h - the limits of a gate, and whether its settings go together.
 */
#ifndef DSA_GATE_CONFIG_H
#define DSA_GATE_CONFIG_H

#include "models/gate/gate.h"

/* Of a metric, by its number: its own unless another was asked for. */
double gate_config_limit(const struct gate_config *config, int metric);

/* Whether it is compared, and whether it can decide: it has a limit then. */
bool gate_config_compares(const struct gate_config *config, int metric);
bool gate_config_decides(const struct gate_config *config, int metric);

/* Whether something is timed; then it has to be the same machine, unless another one is
 * allowed. */
bool gate_config_is_timed(const struct gate_config *config);
bool gate_config_wants_machine(const struct gate_config *config);

/* 0 or -EINVAL: alpha, a limit, or how many timed metrics there are. */
int gate_config_check(const struct gate_config *config, struct error *err);

/* 0; -EINVAL when so many repetitions can't reach alpha with so many timed metrics at
 * once. */
int gate_config_reaches(const struct gate_config *config, size_t base, size_t now,
			unsigned metrics, struct error *err);

#endif
