/* none.c - the caches that keep nothing here: none at all, and the kernel's. */
#include "loader/cache/policy.h"

const struct cache_policy cache_none = {.name = "none"};
const struct cache_policy cache_page = {.name = "page", .kernel = true};
