/* loader_1.c - what programs get that were built when DSA_1 was the only version. In the
 * shared library alone. */
#include "loader/loader.h"

#include <stddef.h>
#include <string.h>

/* The members of struct dsa_config then. */
enum { LOADER_1_BYTES = offsetof(struct dsa_config, device) };

/* Those of struct dsa_batch. */
enum { LOADER_1_BATCH = offsetof(struct dsa_batch, type) };

int dsa_open_1(const struct dsa_config *config, struct dsa_loader **loader, char *why);
__asm__(".symver dsa_open_1,dsa_open@DSA_1");

__attribute__((visibility("default"))) int
dsa_open_1(const struct dsa_config *config, struct dsa_loader **loader, char *why)
{
	struct dsa_config now = {0};

	memcpy(&now, config, LOADER_1_BYTES);
	return dsa_open(&now, loader, why);
}

int dsa_next_1(struct dsa_loader *loader, struct dsa_batch *batch);
__asm__(".symver dsa_next_1,dsa_next@DSA_1");

__attribute__((visibility("default"))) int dsa_next_1(struct dsa_loader *loader,
						      struct dsa_batch *batch)
{
	struct dsa_batch now;
	int result = dsa_next(loader, &now);

	if (result > 0)
		memcpy(batch, &now, LOADER_1_BATCH);
	return result;
}
