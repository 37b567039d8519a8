/*
 * loader.h - libdsa: batches of prepared samples for a training program.
 * Installed as <dsa/loader.h>.
 *
 *	struct dsa_config config = {.dataset = "images/", .batch = 64};
 *	struct dsa_loader *loader;
 *	struct dsa_batch batch;
 *	char why[DSA_WHY];
 *
 *	if (dsa_open(&config, &loader, why) < 0)
 *		errx(1, "%s", why);
 *	while (dsa_next(loader, &batch) > 0) {
 *		train(batch.data, batch.labels, batch.count);
 *		dsa_release(loader, &batch);
 *	}
 *	dsa_close(loader);
 *
 * A program that uses it needs no change to be profiled or configured from outside:
 * DSA_LOADER="workers=4,cache_size=35%" overrides its config, DSA_SESSION names the
 * session of a `dsa run`, DSA_SHARE the socket of a `dsa serve` whose batches it is to
 * get in place of its own. dsa_loader(3) describes every member and key.
 *
 * Threads: dsa_next, dsa_release, those of devices and dsa_compute of one loader belong to
 * one thread at a time; dsa_stats may be called from any. Different loaders do not know each
 * other. After fork() the child may only dsa_close() (which frees nothing shared):
 * every other call returns -EOWNERDEAD there, and the data of batches is not mapped:
 * copy it before.
 */
#ifndef DSA_LOADER_H
#define DSA_LOADER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DSA_WHY 256 /* bytes that an error line needs at the most */

enum dsa_layout { DSA_NCHW, DSA_NHWC };
enum dsa_type { DSA_FLOAT32, DSA_FLOAT16, DSA_UINT8, DSA_INT32, DSA_INT64 };
enum dsa_features { DSA_WAVEFORM, DSA_LOGMEL };
enum dsa_shuffle { DSA_GLOBAL, DSA_BLOCKS };
enum dsa_on_error { DSA_SKIP, DSA_FAIL };

/* What to load and how. Zero or NULL in a member means the default in brackets. */
struct dsa_config {
	const char *dataset;  /* folder, list, file or shards; "synthetic[:COUNT]" */
	unsigned batch;       /* samples a batch [64] */
	unsigned workers;     /* prep threads [the cores this process may use] */
	unsigned prefetch;    /* batches prepared ahead [4] */
	unsigned fetch_depth; /* reads in flight [16; of servers as many as it takes] */
	const char *fetch;    /* an engine of dsa_loader(3) [auto] */
	const char *cache;    /* a policy of dsa_loader(3) [page] */
	const char *cache_size;           /* "2G" or "35%" of the data set [0] */
	uint64_t seed;                    /* of shuffle, crop and flip [0] */
	unsigned rank, world;             /* this shard of so many [0 of 1] */
	unsigned epochs;                  /* then the data ends [no end] */
	uint64_t start_epoch, start_step; /* resume here [0, 0] */
	int in_order;                     /* 1: do not shuffle */
	int drop_last;                    /* 1: no short batch at an epoch's end */
	int evaluate; /* 1: resize and centre crop instead of random crop, flip */
	enum dsa_on_error on_error;
	const char *prep; /* image raw tokens audio [image] */
	unsigned size;    /* side of the square delivered, pixels [224] */
	enum dsa_layout layout;
	enum dsa_type type;      /* [of tokens DSA_INT64] */
	const float *mean, *std; /* three each, 0..1 scale [ImageNet's] */
	const char *share;       /* socket of a shared loader; "": none [DSA_SHARE] */
	/* Since DSA_2: */
	const char *device;  /* where batches arrive: "cuda", "cuda:N" [memory] */
	unsigned length;     /* tokens of a window, which has one more [1024] */
	unsigned token_bits; /* 16, 32: of files whose names do not say [16] */
	unsigned rate;       /* of audio, Hz [16000] */
	enum dsa_features features;
	double seconds;           /* of a crop of audio [5] */
	const char *cache_dir;    /* folder of a cache on local disk [in memory] */
	enum dsa_shuffle shuffle; /* all samples at once, or runs of neighbours */
	double deadline;          /* seconds without an answer of a server [60] */
	uint64_t prefetch_bytes;  /* encoded, that are fetched and not used yet [any] */
	int hedge;         /* 1: servers are asked again where their answer is late */
	uint64_t read_gap; /* bytes between samples that are one read [64K] */
};

#define DSA_DIMS 4

/* A batch: read-only, valid until it is released. */
struct dsa_batch {
	const void *data;        /* count samples of sample_bytes, one after another */
	const uint32_t *labels;  /* count class numbers */
	const uint32_t *samples; /* count sample numbers: position in the data set */
	size_t sample_bytes;
	uint32_t count;
	uint32_t slot;        /* which of the ring's slots: stable, for pinning. With
			       * DSA_SHARE data may lie anywhere in one mapping */
	uint64_t epoch, step; /* from 0; step counts within the epoch */
	uint64_t number;      /* of the batch since open, repeats included */
	uint32_t repeated;    /* 1: data delivered before, for a measurement */
	uint32_t reserved;
	/* Since DSA_2: data is an array of this type and shape, row by row. */
	enum dsa_type type;
	uint32_t dims;            /* 2..DSA_DIMS */
	uint32_t shape[DSA_DIMS]; /* the first is count */
};

/*
 * A batch on the device: `data` and `labels` are addresses there, of what dsa_batch.data
 * would hold and of count int64 numbers. batch.data is NULL, batch.sample_bytes that of
 * the device; batch.labels and batch.samples lie in memory as ever.
 */
struct dsa_device_batch {
	struct dsa_batch batch;
	uint64_t data, labels;
};

struct dsa_stats {
	uint64_t samples, batches;             /* delivered */
	uint64_t skipped;                      /* could not be read or decoded */
	uint64_t hits, misses, resident_bytes; /* of the cache of encoded samples */
	uint64_t fetched_bytes;                /* read by the fetch engine */
	uint64_t blocked_ns; /* time spent waiting inside dsa_next() */
	/* Of the next batch: resume here. Exact unless this epoch skipped samples. */
	uint64_t epoch, step;
	uint64_t steps_per_epoch; /* at the most; skipped samples may shorten */
	uint64_t dataset_samples, dataset_bytes;
	uint32_t classes, workers;
	/* With DSA_SHARE: 1: a shared loader delivers; 2: it did, then this one went on
	 * alone; 0: it never did. And bytes of batches that had to be copied. */
	uint32_t shared;
	/* Lost over 1 % of their samples to reads that failed. 0 while a shared loader
	 * delivers: its log says so. */
	uint32_t lossy_epochs;
	uint64_t copied_bytes;
};

struct dsa_loader;

/*
 * Opens a loader and starts its threads. Returns 0 and *loader, which the caller
 * ends with dsa_close(); or -errno and one line in why (DSA_WHY bytes; may be NULL).
 */
int dsa_open(const struct dsa_config *config, struct dsa_loader **loader, char *why);

/*
 * The next batch. Waits for it. Returns 1; 0 at the end of the data (the configured
 * epochs, or `dsa run` has seen enough); -errno when a sample failed under
 * DSA_FAIL (dsa_why() names it), -EBUSY when the caller holds too many batches,
 * -ECANCELED when a shared loader was stopped before the caller's data ended.
 * Several batches may be held at once, `prefetch` at the most.
 */
int dsa_next(struct dsa_loader *loader, struct dsa_batch *batch);

/* Gives the batch's slot back. In any order. Returns 0 or -EINVAL. */
int dsa_release(struct dsa_loader *loader, const struct dsa_batch *batch);

/*
 * Of a loader with a device; dsa_next() and dsa_release() are for the others. stream is a
 * CUstream, which is what a cudaStream_t is; NULL: the default one.
 *
 * dsa_next_device() waits as dsa_next() until a batch is prepared, not until it is on the
 * device: `stream` waits for that. dsa_wait_device() has one more stream wait for it.
 *
 * dsa_release_device() gives it back: what was put on `stream` until now may still use it.
 * The stream lives until then; one that is destroyed already is an error, and all work of
 * the device is waited for. The call waits until the batch has been copied out of the
 * loader's memory, which is mostly long ago, and not for the program's work on it; but for
 * that on the batch that was released `prefetch` + 2 releases before. What the program put
 * on other streams has to be before that on `stream`.
 */
int dsa_next_device(struct dsa_loader *loader, void *stream,
		    struct dsa_device_batch *batch);
int dsa_wait_device(struct dsa_loader *loader, const struct dsa_device_batch *batch,
		    void *stream);
int dsa_release_device(struct dsa_loader *loader, const struct dsa_device_batch *batch,
		       void *stream);

/*
 * An emulated accelerator of `rate` samples/s: sleeps until the batch's delivery +
 * count/rate, by an absolute timer, never catching up, and counts what it did.
 * gpu_speed in DSA_LOADER is a factor on every such rate. Results made with it are
 * named "emulated". Returns 0 or -EINVAL.
 */
int dsa_compute(struct dsa_loader *loader, const struct dsa_batch *batch, double rate);

/* Counters since open. Returns 0. */
int dsa_stats(const struct dsa_loader *loader, struct dsa_stats *stats);

/* The last failure of this loader, one line; "" if there was none. */
const char *dsa_why(const struct dsa_loader *loader);

/* Name of a class, valid until close; NULL if there is no such label. */
const char *dsa_class(const struct dsa_loader *loader, uint32_t label);

/* Stops every thread, waits for them, frees everything. NULL is allowed. */
void dsa_close(struct dsa_loader *loader);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
