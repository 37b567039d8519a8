/*
 * nccl_plugin.h - what NCCL finds in the library that NCCL_PROFILER_PLUGIN names.
 *
 * Without a session, in a forked child, and where there are too many communicators nothing is
 * recorded, and NCCL is asked for no events.
 */
#ifndef DSA_NCCL_PLUGIN_H
#define DSA_NCCL_PLUGIN_H

#include "profiler/nccl/nccl_api.h"

#define NCCL_PLUGIN_EXPORT __attribute__((visibility("default")))

NCCL_PLUGIN_EXPORT extern const struct nccl_profiler_v4 ncclProfiler_v4;
NCCL_PLUGIN_EXPORT extern const struct nccl_profiler_v5 ncclProfiler_v5;

#endif
