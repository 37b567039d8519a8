/* samples.c - names samples by where they lie, and their versions by what they are. */
#include "loader/disk/samples.h"
#include "loader/base/clock.h"
#include "loader/base/limits.h"
#include "loader/disk/store.h"
#include "loader/net.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* A file that was changed so short ago may be changed again with the same time: clocks of
 * file systems tick as slowly as every 10 ms. */
#define SETTLED_NS INT64_C(20000000)

/* The path of a folder, from the root. */
static int samples_folder(struct samples_namer *namer, int dir)
{
	char link[64];
	ssize_t length;

	if (namer->dir == dir)
		return 0;
	if (dir == AT_FDCWD) {
		if (getcwd(namer->path, sizeof(namer->path)) == NULL)
			return -errno;
		namer->dir = dir;
		return 0;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	length = readlink(link, namer->path, sizeof(namer->path) - 1);
	if (length < 0)
		return -errno;
	namer->path[length] = '\0';
	namer->dir = dir;
	return 0;
}

/* Folder or server, name within it, which part, and what is taken of that. */
static void samples_id(const struct source *source, const struct source_place *place,
		       const char *folder, const char *name, struct stored_key *key)
{
	const char *features = source_facts(source)->features; /* taken of a record */
	char text[2 * PATH_MAX + 256];
	int length = snprintf(text, sizeof(text), "%zu %zu %llu %lld %.100s\n%s\n%s",
			      strlen(folder), strlen(name),
			      (unsigned long long)place->offset,
			      place->part ? (long long)place->size : -1LL,
			      features != NULL ? features : "", folder, name);
	XXH128_hash_t hash =
		XXH3_128bits(text, (size_t)length < sizeof(text) ? (size_t)length
								 : sizeof(text) - 1);

	key->id[0] = hash.high64;
	key->id[1] = hash.low64;
}

static int64_t samples_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static uint64_t samples_hash_status(const struct stat *status)
{
	const uint64_t facts[4] = {(uint64_t)samples_ns(&status->st_mtim),
				   (uint64_t)samples_ns(&status->st_ctim),
				   (uint64_t)status->st_size, (uint64_t)status->st_ino};

	return XXH3_64bits(facts, sizeof(facts));
}

static int samples_file_version(const struct source_place *place,
				struct stored_key *key)
{
	int64_t modified, changed, now = (int64_t)clock_real();
	struct stat status;

	if (fstatat(place->dir, place->path, &status, 0) < 0)
		return -errno;
	modified = samples_ns(&status.st_mtim);
	changed = samples_ns(&status.st_ctim);
	if (now - modified < SETTLED_NS || now - changed < SETTLED_NS)
		return -ENODATA;
	if (!place->part) {
		if (status.st_size <= 0 || status.st_size > LIMIT_SAMPLE)
			return -ENODATA;
		key->size = (uint32_t)status.st_size;
	}
	key->version = samples_hash_status(&status);
	return 0;
}

static int samples_version(const struct source_place *place, struct stored_key *key)
{
	if (place->object == NULL)
		return samples_file_version(place, key);
	if (place->etag == NULL || place->etag[0] == '\0')
		return -ENODATA;
	key->version = XXH3_64bits(place->etag, strlen(place->etag));
	return 0;
}

int samples_key(const struct source *source, uint32_t sample,
		struct samples_namer *namer, bool version, struct stored_key *key)
{
	struct source_place place;
	char path[PATH_MAX];

	source_place(source, sample, path, &place);
	if (place.memory != NULL || place.size == 0 || place.size > LIMIT_SAMPLE)
		return -ENODATA;
	*key = (struct stored_key){.size = place.size};
	if (place.object != NULL) {
		samples_id(source, &place, net_remote_url(place.remote), place.object,
			   key);
	} else {
		int result = samples_folder(namer, place.dir);

		if (result < 0)
			return result;
		samples_id(source, &place, namer->path, place.path, key);
	}
	return version ? samples_version(&place, key) : 0;
}
