/* components.c - opens data set, cache, prep and throttle from a loader's options. */
#include "loader/components.h"
#include "loader/base/error.h"
#include "loader/base/throttle.h"
#include "loader/cache.h"
#include "loader/disk.h"
#include "loader/options.h"
#include "loader/prep.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a cache on disk cache_bytes is then what fits of this data set's samples. */
static int components_open_disk(struct components *parts, struct options *options,
				struct error *err)
{
	const struct disk_config config = {
		.folder = options->cache_dir,
		.policy = options->cache,
		.bytes = options->cache_bytes,
		.share = options->cache_share,
		.source = parts->source,
	};
	struct disk *disk = disk_open(&config, err);
	struct disk_stats stats;

	if (disk == NULL)
		return -err->code;
	disk_stats(disk, &stats);
	options->cache_bytes = stats.capacity;
	parts->cache = cache_over(disk);
	return parts->cache != NULL ? 0
				    : error_sys(err, ENOMEM, "cannot open the cache");
}

/* What servers have is in no cache of the kernel. */
static int components_open_cache(struct components *parts, struct options *options,
				 struct error *err)
{
	if (options->cache_dir[0] != '\0')
		return components_open_disk(parts, options, err);
	if (source_facts(parts->source)->remote && strcmp(options->cache, "page") == 0)
		snprintf(options->cache, sizeof(options->cache), "none");
	if (options->cache_share > 0)
		options->cache_bytes =
			(uint64_t)(options->cache_share *
				   (double)source_facts(parts->source)->bytes);
	parts->cache = cache_open(options->cache, source_count(parts->source),
				  options->cache_bytes, err);
	return parts->cache != NULL ? 0 : -err->code;
}

static int open_throttle(struct components *parts, const struct options *options,
			 struct error *err)
{
	if (!(options->storage_bandwidth > 0 || options->storage_latency > 0))
		return 0;
	parts->throttle =
		throttle_new(options->storage_bandwidth, options->storage_latency);
	return parts->throttle != NULL
		       ? 0
		       : error_sys(err, ENOMEM, "cannot open the throttle");
}

struct permutation_blocks components_blocks(const struct options *options,
					    const struct source *source)
{
	if (!options->shuffle_blocks || options->in_order)
		return (struct permutation_blocks){0};
	return permutation_blocks_of(source_facts(source)->bytes, source_count(source));
}

int components_set_prep(struct components *parts, const struct options *options,
			struct error *err)
{
	struct prep *prep = prep_open(&options->image, err);

	if (prep == NULL)
		return -err->code;
	prep_close(parts->prep);
	parts->prep = prep;
	return 0;
}

struct source *components_source(const struct options *options, const char *dataset,
				 struct error *err)
{
	const struct source_config config = {.seed = options->seed,
					     .prep = options->prep,
					     .length = options->image.length,
					     .token_bits = options->image.token_bits,
					     .relist = options->relist,
					     .deadline_s = options->deadline,
					     .image_feature = options->image_feature,
					     .label_feature = options->label_feature};

	return source_open(dataset, &config, err);
}

int components_open(struct components *parts, struct options *options,
		    struct source *source, struct error *err)
{
	int result;

	*parts = (struct components){.source = source};
	if (source == NULL)
		parts->source = components_source(options, options->dataset, err);
	if (parts->source == NULL)
		return -err->code;
	result = components_open_cache(parts, options, err);
	if (result < 0)
		return result;
	result = components_set_prep(parts, options, err);
	return result < 0 ? result : open_throttle(parts, options, err);
}

void components_close(struct components *parts)
{
	throttle_free(parts->throttle);
	prep_close(parts->prep);
	cache_close(parts->cache);
	source_close(parts->source);
}
