/* sweep_fuzz.c - what people type as changes and as grids of them. */
#include "loader/base/error.h"
#include "loader/base/variants.h"
#include "models/whatif/sweep.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static bool sane(double number, double least, double most)
{
	return isnan(number) || number == 0 || (number >= least && number <= most);
}

static void check(const struct profile_change *change)
{
	require(change->cores <= 512);
	require(change->workers <= 128);
	require(change->batch <= 65536);
	require(isnan(change->cache_share) ||
		(change->cache_share >= 0 && change->cache_share <= 1));
	require(change->cache_policy.id == -1 || change->cache_policy.id > CACHE_NONE);
	require(change->cache_policy.id < CACHE_IDS);
	require(sane(change->gpu_speed, .01, 100) && change->gpu_speed != 0);
	require(sane(change->storage_bandwidth, 1, 0x1p62));
	require(sane(change->storage_latency_s, 0, 3600));
	require(change->jobs <= 64 && (change->jobs > 0 || !change->share));
	for (unsigned i = 0; i < PROFILE_SPEEDS; i++)
		require(change->job_speed[i] == 0 ||
			(i < change->jobs && change->job_speed[i] >= .1 &&
			 change->job_speed[i] <= 10));
}

static void expand(const struct sweep *sweep, const struct profile *profile)
{
	struct sweep_list list;
	struct error err = {0};

	if (sweep_changes(sweep, profile, &list, &err) == 0) {
		require(list.count <= SWEEP_CHANGES);
		for (size_t i = 0; i < list.count; i++)
			check(&list.changes[i]);
	} else {
		require(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
	}
	sweep_list_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;
	static struct sweep sweep;
	struct profile profile;

	if (text == NULL)
		return 0;
	memset(&sweep, 0, sizeof(sweep));
	while ((line = strsep(&rest, "\n")) != NULL) {
		struct error err = {0};

		if (sweep_set_pair(&sweep, line, &err) < 0)
			require(err.message[0] != '\0');
	}
	profile_init(&profile);
	profile.dataset_bytes = 1000000;
	expand(&sweep, &profile);
	profile_free(&profile);
	free(text);
	return 0;
}
