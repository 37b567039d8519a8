/*
 * nccl_plugin.h - what NCCL finds in the library that NCCL_PROFILER_PLUGIN names.
 *
 * Without a session and in a forked child nothing is recorded, and NCCL is asked for no events;
 * of communicators beyond those there is room for nothing is recorded.
 */
#ifndef DSA_NCCL_PLUGIN_H
#define DSA_NCCL_PLUGIN_H

#include "profiler/nccl/nccl_api.h"

#define NCCL_PLUGIN_EXPORT __attribute__((visibility("default")))

NCCL_PLUGIN_EXPORT extern const struct nccl_profiler_v4 ncclProfiler_v4;
NCCL_PLUGIN_EXPORT extern const struct nccl_profiler_v5 ncclProfiler_v5;

#endif
