/*
 * disk.c - the samples of a data set that a store has, and a thread that writes more.
 *
 *	disk_get -> key of now -> [there] -> a hit
 *			       -> [not]   -> `seen` keeps the version
 *	disk_offer -> queue -> thread: store_write() under the version that was seen
 *
 * A sample that is read while it changes is not kept: the version is the one from before it
 * was read, and of two that were seen neither is taken. Nor is one kept that comes from a
 * shard which the reader has open, while another has its name.
 */
#include "loader/disk.h"
#include "loader/base/blob.h"
#include "loader/base/bytes/array.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/base/variants.h"
#include "loader/disk/samples.h"
#include "loader/disk/store.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Offers that wait to be written, which hold memory. */
#define MOST_QUEUED ((size_t)64 << 20)

enum { UNSEEN = 0, UNSURE = 1 }; /* in place of a version */

struct disk_offer {
	struct disk_offer *next;
	struct blob *blob;
	uint32_t sample;
	uint64_t version;
};

struct disk {
	const struct source *source;
	struct store store;
	uint64_t capacity;      /* bytes of samples */
	_Atomic uint64_t *seen; /* by sample: its version when it was looked for */
	_Atomic uint64_t *has;  /* a bit each: it is there */
	atomic_uint_fast64_t resident, resident_bytes;
	atomic_uint_fast64_t hits, misses, written, refused;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, settled;
	struct disk_offer *first, **last; /* lock */
	size_t queued;                    /* bytes, with that being written; lock */
	bool closing;                     /* lock */
};

/* ---- which samples are there ---- */

static uint64_t disk_bit(uint32_t sample)
{
	return UINT64_C(1) << (sample % 64);
}

bool disk_has(const struct disk *disk, uint32_t sample)
{
	return (disk->has[sample / 64] & disk_bit(sample)) != 0;
}

static void disk_note(struct disk *disk, uint32_t sample, bool there)
{
	_Atomic uint64_t *word = &disk->has[sample / 64];
	uint64_t bit = disk_bit(sample), size = source_size(disk->source, sample);
	uint64_t before =
		there ? atomic_fetch_or(word, bit) : atomic_fetch_and(word, ~bit);

	if (there && (before & bit) == 0) {
		disk->resident++;
		disk->resident_bytes += size;
	} else if (!there && (before & bit) != 0) {
		disk->resident--;
		disk->resident_bytes -= size;
	}
}

/* First halves of what objects are called, and their sizes, as a scan finds them. */
struct disk_found {
	struct disk_found_id {
		uint64_t id;
		uint32_t size;
	} * ids;
	size_t count, room;
};

static int disk_found_add(void *context, const struct stored_key *key, int64_t time_ns)
{
	struct disk_found *found = context;
	struct disk_found_id *ids =
		array_grow(found->ids, &found->room, found->count + 1, sizeof(*ids));

	(void)time_ns;
	if (ids == NULL)
		return -ENOMEM;
	found->ids = ids;
	ids[found->count++] = (struct disk_found_id){key->id[0], key->size};
	return 0;
}

static int disk_compare_ids(const void *a, const void *b)
{
	uint64_t x = ((const struct disk_found_id *)a)->id;
	uint64_t y = ((const struct disk_found_id *)b)->id;

	return (x > y) - (x < y);
}

/* The first of those that were found with this half of a name. NULL: none. */
static const struct disk_found_id *disk_first(const struct disk_found *found,
					      uint64_t id)
{
	const struct disk_found_id wanted = {.id = id}, *at = NULL;

	if (found->count > 0)
		at = bsearch(&wanted, found->ids, found->count, sizeof(wanted),
			     disk_compare_ids);
	while (at != NULL && at > found->ids && at[-1].id == id)
		at--;
	return at;
}

/*
 * A sample of which there are objects from `first` on: removes those of another size than it
 * has, which are old. An index may have an old size, too: then its place is asked. Returns
 * whether one is left.
 */
static bool disk_match_one(struct disk *disk, uint32_t sample,
			   const struct disk_found *found,
			   const struct disk_found_id *first, struct stored_key *key)
{
	const struct disk_found_id *end = found->ids + found->count, *at = first;
	struct samples_namer namer = {.dir = -1};
	struct stored_key old;
	bool there = false;

	if (first->size == key->size && (first + 1 == end || first[1].id != first->id))
		return true;
	if (samples_key(disk->source, sample, &namer, true, key) < 0)
		return false;
	for (; at < end && at->id == first->id; at++) {
		old = *key;
		old.size = at->size;
		if (at->size == key->size)
			there = true;
		else
			store_remove_stale(&disk->store, &old);
	}
	return there;
}

/* Notes those samples that were found. Returns the bytes that all would take on disk, and
 * in *there those that these take. */
static uint64_t disk_match(struct disk *disk, const struct disk_found *found,
			   uint64_t *there)
{
	uint32_t count = source_count(disk->source);
	const struct disk_found_id *first;
	struct samples_namer namer = {.dir = -1};
	struct stored_key key;
	uint64_t charge = 0;

	*there = 0;
	if (found->count > 0)
		qsort(found->ids, found->count, sizeof(*found->ids), disk_compare_ids);
	for (uint32_t i = 0; i < count; i++) {
		if (samples_key(disk->source, i, &namer, false, &key) < 0)
			continue;
		charge += stored_charge(key.size);
		first = disk_first(found, key.id[0]);
		if (first == NULL || !disk_match_one(disk, i, found, first, &key))
			continue;
		disk_note(disk, i, true);
		*there += stored_charge(key.size);
	}
	return charge;
}

/* ---- the thread that writes ---- */

static void disk_write(struct disk *disk, const struct disk_offer *offer)
{
	struct samples_namer namer = {.dir = -1};
	struct stored_key key;
	int result = samples_key(disk->source, offer->sample, &namer, false, &key);

	if (result < 0)
		return;
	key.version = offer->version;
	if (!source_sealed(disk->source) || offer->blob->size > key.size)
		key.size = (uint32_t)offer->blob->size;
	result = store_write(&disk->store, &key, offer->blob->data,
			     (uint32_t)offer->blob->size);
	if (result == 0 || result == -EEXIST)
		disk_note(disk, offer->sample, true);
	if (result == 0)
		disk->written++;
	else if (result != -EEXIST && result != -EDQUOT)
		disk->refused++;
}

static struct disk_offer *disk_next_offer(struct disk *disk)
{
	struct disk_offer *offer;

	pthread_mutex_lock(&disk->lock);
	while (disk->first == NULL && !disk->closing)
		pthread_cond_wait(&disk->wanted, &disk->lock);
	offer = disk->first;
	if (offer != NULL) {
		disk->first = offer->next;
		if (disk->first == NULL)
			disk->last = &disk->first;
	}
	pthread_mutex_unlock(&disk->lock);
	return offer;
}

static void *disk_run(void *context)
{
	struct disk *disk = context;
	struct disk_offer *offer;

	pthread_setname_np(pthread_self(), "dsa-disk");
	while ((offer = disk_next_offer(disk)) != NULL) {
		size_t size = offer->blob->size;

		disk_write(disk, offer);
		blob_put(offer->blob);
		free(offer);
		pthread_mutex_lock(&disk->lock);
		disk->queued -= size;
		if (disk->queued == 0)
			pthread_cond_broadcast(&disk->settled);
		pthread_mutex_unlock(&disk->lock);
	}
	return NULL;
}

/* The version to write a sample under; 0: it is not to be written. */
static uint64_t disk_take_version(struct disk *disk, uint32_t sample)
{
	uint64_t version = atomic_exchange(&disk->seen[sample], UNSEEN);

	return version == UNSURE ? UNSEEN : version;
}

static bool disk_queue(struct disk *disk, struct disk_offer *offer)
{
	size_t size = offer->blob->size;
	bool room;

	pthread_mutex_lock(&disk->lock);
	room = disk->queued == 0 ||
	       (disk->queued < MOST_QUEUED && size <= MOST_QUEUED - disk->queued);
	if (room) {
		disk->queued += size;
		*disk->last = offer;
		disk->last = &offer->next;
		pthread_cond_signal(&disk->wanted);
	}
	pthread_mutex_unlock(&disk->lock);
	return room;
}

bool disk_offer(struct disk *disk, uint32_t sample, struct blob *blob)
{
	uint64_t version = disk_take_version(disk, sample);
	struct disk_offer *offer;

	if (version == UNSEEN || disk->store.stopped != 0 || blob->size == 0 ||
	    disk_has(disk, sample))
		return false;
	offer = malloc(sizeof(*offer));
	if (offer == NULL)
		return false;
	*offer = (struct disk_offer){
		.blob = blob_ref(blob), .sample = sample, .version = version};
	if (disk_queue(disk, offer))
		return true;
	disk->refused++;
	blob_put(blob);
	free(offer);
	return false;
}

void disk_settle(struct disk *disk)
{
	pthread_mutex_lock(&disk->lock);
	while (disk->queued > 0)
		pthread_cond_wait(&disk->settled, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

/* ---- reading ---- */

static void disk_saw(struct disk *disk, uint32_t sample, uint64_t version)
{
	uint64_t none = UNSEEN;

	if (version <= UNSURE)
		version = UNSURE;
	if (!atomic_compare_exchange_strong(&disk->seen[sample], &none, version) &&
	    none != version)
		disk->seen[sample] = UNSURE;
}

void disk_doubt(struct disk *disk, uint32_t sample)
{
	disk->seen[sample] = UNSURE;
}

struct blob *disk_get(struct disk *disk, uint32_t sample, bool quiet)
{
	struct samples_namer namer = {.dir = -1};
	struct blob *blob = NULL;
	struct stored_key key;
	int result = samples_key(disk->source, sample, &namer, true, &key);

	if (result == 0)
		result = store_read(&disk->store, &key, !quiet, &blob);
	if (result == -ENOENT || result == -ESTALE || result == -EBADMSG)
		disk_saw(disk, sample, key.version);
	disk_note(disk, sample, result == 0);
	if (!quiet)
		atomic_fetch_add(result == 0 ? &disk->hits : &disk->misses, 1);
	return blob;
}

/* ---- opening ---- */

static int disk_order(const char *policy, enum store_order *order, struct error *err)
{
	if (strcmp(policy, "minio") == 0)
		*order = STORE_KEEPS;
	else if (strcmp(policy, "lru") == 0)
		*order = STORE_OLDEST_READ;
	else if (strcmp(policy, "fifo") == 0)
		*order = STORE_OLDEST_WRITTEN;
	else
		return error_set(err, EINVAL,
				 "a cache on disk is minio, lru or fifo, not '%.40s'",
				 policy);
	return 0;
}

/*
 * What the bound means for this data set's samples, which on disk take whole blocks. What
 * only keeps has no more room than others have left it.
 */
static void disk_set_bound(struct disk *disk, const struct disk_config *config,
			   uint64_t charge, uint64_t there)
{
	double bytes = (double)source_facts(disk->source)->bytes;
	uint64_t bound = config->bytes;
	uint64_t others = disk->store.page->bytes;
	double room;

	if (bound == 0)
		bound = (uint64_t)(config->share * (double)charge + .5);
	disk->store.bound = bound;
	others = others > there ? others - there : 0;
	if (disk->store.order != STORE_KEEPS)
		others = 0;
	room = bound > others ? (double)(bound - others) : 0;
	disk->capacity = charge > 0 ? (uint64_t)(room / (double)charge * bytes) : 0;
}

static int disk_open_store(struct disk *disk, const struct disk_config *config,
			   struct error *err)
{
	struct disk_found found = {0};
	const struct store_scan scan = {.each = disk_found_add, .context = &found};
	uint64_t charge, there;
	int result = store_open(&disk->store, config->folder, &scan, err);

	if (result == 0) {
		charge = disk_match(disk, &found, &there);
		disk_set_bound(disk, config, charge, there);
	}
	free(found.ids);
	return result;
}

static void disk_free(struct disk *disk)
{
	free(disk->seen);
	free(disk->has);
	free(disk);
}

static struct disk *disk_new(const struct disk_config *config)
{
	struct disk *disk = calloc(1, sizeof(*disk));
	uint32_t count = source_count(config->source);

	if (disk == NULL)
		return NULL;
	disk->source = config->source;
	disk->last = &disk->first;
	disk->seen = calloc(count, sizeof(*disk->seen));
	disk->has = calloc(count / 64 + 1, sizeof(*disk->has));
	if (disk->seen != NULL && disk->has != NULL)
		return disk;
	disk_free(disk);
	return NULL;
}

struct disk *disk_open(const struct disk_config *config, struct error *err)
{
	struct disk *disk = disk_new(config);
	int result;

	if (disk == NULL)
		return error_null(
			error_sys(err, ENOMEM, "cannot open the cache on disk"));
	if (disk_order(config->policy, &disk->store.order, err) < 0 ||
	    disk_open_store(disk, config, err) < 0) {
		disk_free(disk);
		return NULL;
	}
	pthread_mutex_init(&disk->lock, NULL);
	pthread_cond_init(&disk->wanted, NULL);
	pthread_cond_init(&disk->settled, NULL);
	result = thread_start(&disk->thread, disk_run, disk);
	if (result == 0)
		return disk;
	store_close(&disk->store);
	disk_free(disk);
	return error_null(error_sys(err, result, "cannot open the cache on disk"));
}

void disk_close(struct disk *disk)
{
	if (disk == NULL)
		return;
	pthread_mutex_lock(&disk->lock);
	disk->closing = true;
	pthread_cond_signal(&disk->wanted);
	pthread_mutex_unlock(&disk->lock);
	pthread_join(disk->thread, NULL);
	pthread_mutex_destroy(&disk->lock);
	pthread_cond_destroy(&disk->wanted);
	pthread_cond_destroy(&disk->settled);
	store_close(&disk->store);
	disk_free(disk);
}

void disk_stats(const struct disk *disk, struct disk_stats *stats)
{
	const struct store *store = &disk->store;
	uint64_t entries = store->page->entries, resident = disk->resident;
	double bytes = (double)disk->resident_bytes;

	/* What was evicted is noted when it is looked for next. */
	if (resident > entries) {
		bytes = bytes / (double)resident * (double)entries;
		resident = entries;
	}
	*stats = (struct disk_stats){
		.bound = store->bound,
		.used = store->page->bytes,
		.entries = entries,
		.capacity = disk->capacity,
		.resident_bytes = (uint64_t)bytes,
		.resident = resident,
		.hits = disk->hits,
		.misses = disk->misses,
		.written = disk->written,
		.refused = disk->refused,
		.dropped = store->dropped,
		.stale = store->stale,
		.evicted = store->evicted,
		.reads_begun = store->reads_begun,
		.reads = store->reads,
		.read_bytes = store->read_bytes,
		.stopped = store->stopped,
		.full = store->full,
	};
}
