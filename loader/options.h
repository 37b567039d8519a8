/*
 * options.h - a loader's configuration, resolved: the program's dsa_config, then what
 * DSA_LOADER says, then the defaults.
 *
 * DSA_LOADER is "key=value,key=value"; keys are the members of struct dsa_config and
 * relist, image_feature, label_feature, storage_bandwidth, storage_latency, prep_delay,
 * gpu_speed, steps, alone, takeover, transfer. Of a key that comes twice the last one
 * counts, so that a text can be appended to. In a value %XX stands for any byte, so that
 * a path may hold commas.
 */
#ifndef DSA_OPTIONS_H
#define DSA_OPTIONS_H

#include "loader/loader.h"
#include "loader/prep.h"

#include <stdbool.h>
#include <stddef.h>

struct error;

struct options {
	char dataset[4096];
	char cache_dir[4096]; /* the cache is on disk, there; "": in memory */
	char fetch[32], cache[32], prep[32];
	uint64_t cache_bytes; /* when cache_share is 0; of none and page 0 as well */
	double cache_share;   /* of the data set; 0: cache_bytes counts */
	bool cache_sized;     /* somebody said either, if only 0 */
	unsigned batch, workers, prefetch, fetch_depth;
	bool depth_auto; /* nobody said fetch_depth: where servers are asked it adapts */
	uint64_t seed;
	unsigned rank, world, epochs;
	uint64_t start_epoch, start_step;
	bool in_order, drop_last, fail;
	uint64_t read_gap;   /* bytes between samples that are one read, at the most */
	bool shuffle_blocks; /* by components_blocks(); else all at once */
	char image_feature[256], label_feature[256]; /* of records; "": guessed */
	bool relist;              /* a bucket or web server is listed anew */
	struct prep_config image; /* what is prepared; its op points to prep */
	bool on_device;           /* batches go to a device: */
	int device;               /* its number; -1: the current one, else the first */
	bool typed;               /* somebody said a type */
	bool transfer_output;     /* as the program gets them, not as bytes */
	bool converted;           /* bytes are prepared, and made there: */
	struct prep_config delivered; /* what the program gets, as image */
	uint64_t prefetch_bytes; /* fetched and not used yet, at the most; 0: any */
	bool hedge; /* servers are asked again where their answer is late */
	double storage_bandwidth, storage_latency, prep_delay; /* B/s, s, s; 0: none */
	double gpu_speed; /* of an emulated accelerator: factor on its rate */
	uint64_t steps;   /* ends the data after so many batches; 0: no limit */
	bool alone;       /* without the shared loader: load oneself; else fail */
	double takeover;  /* wait so long for another shared loader, seconds */
	double deadline;  /* of a request to a server, seconds; 0: net.h's */
};

/*
 * Fills *options. text is the value of DSA_LOADER, or NULL. Returns 0, or -EINVAL with
 * the member or key and what it may be.
 */
int options_resolve(struct options *options, const struct dsa_config *config,
		    const char *text, struct error *err);

/*
 * Checks a value of a key alone. Returns 0, or -EINVAL with what it may be: "is 1 to
 * 65536, not 'x'".
 */
int options_check_value(const char *key, const char *value, struct error *err);

/* What a config wants a sample to become; op is left to the caller. */
void options_image(struct prep_config *image, const struct dsa_config *config);

/* What a sample looks like: "float32 NCHW 224". */
void options_shape(const struct options *options, char *text, size_t bytes);

#endif
