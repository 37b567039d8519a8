/* union.c - several data sets as one. */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/net.h"
#include "loader/source/variant.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* Among the numbers of devices, those that stand for servers. */
#define OBJECT (UINT64_C(1) << 63)

/* A sample of a part, and where in which file it is. */
struct entry {
	uint64_t device, inode; /* 0, 0: no file that can be reached: like no other */
	uint64_t at;            /* 1 + offset in the file; 0: the whole file */
	uint32_t part, sample;
	uint32_t turn;  /* of the same bytes in the same part */
	uint32_t first; /* entry with the same bytes and turn that comes first of all */
};

struct joined {
	struct source *parts[LIMIT_PARTS];
	unsigned count;
	uint32_t samples;
	uint64_t *in;                  /* of each sample: the parts that have it */
	uint32_t *number[LIMIT_PARTS]; /* and its number there */
};

static void union_close(void *state)
{
	struct joined *joined = state;

	for (unsigned i = 0; i < joined->count; i++) {
		source_close(joined->parts[i]);
		free(joined->number[i]);
	}
	free(joined->in);
	free(joined);
}

static void union_identify(const struct source *source, struct entry *entry)
{
	char path[PATH_MAX];
	struct source_place place;
	struct stat status;

	source_place(source, entry->sample, path, &place);
	entry->at = place.part ? 1 + place.offset : 0;
	if (place.object != NULL) {
		const char *url = net_remote_url(place.remote);

		entry->device = XXH3_64bits(url, strlen(url)) | OBJECT;
		entry->inode = XXH3_64bits(place.object, strlen(place.object));
		return;
	}
	if (place.path == NULL || fstatat(place.dir, place.path, &status, 0) < 0)
		return;
	entry->device = status.st_dev;
	entry->inode = status.st_ino;
}

static int union_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By file and offset, then as the parts have them. */
static int union_by_bytes(const void *left, const void *right)
{
	const struct entry *a = *(struct entry *const *)left;
	const struct entry *b = *(struct entry *const *)right;
	int order = union_compare(a->device, b->device);

	if (order == 0)
		order = union_compare(a->inode, b->inode);
	if (order == 0)
		order = union_compare(a->at, b->at);
	if (order == 0)
		order = union_compare(a->part, b->part);
	return order != 0 ? order : union_compare(a->sample, b->sample);
}

static bool same_bytes(const struct entry *a, const struct entry *b)
{
	return a->device == b->device && a->inode == b->inode && a->at == b->at &&
	       (a->device != 0 || a->inode != 0);
}

/*
 * Finds for the entries of the same bytes, sorted, the first of each turn: a part that
 * has them twice shares them twice with another that does. firsts has room for count.
 */
static void union_match(const struct entry *entries, struct entry **row, size_t count,
			uint32_t *firsts)
{
	uint32_t turns = 0;

	for (size_t i = 0; i < count; i++) {
		struct entry *entry = row[i];

		entry->turn = i > 0 && row[i - 1]->part == entry->part
				      ? row[i - 1]->turn + 1
				      : 0;
		if (entry->turn == turns)
			firsts[turns++] = (uint32_t)(entry - entries);
		entry->first = firsts[entry->turn];
	}
}

static void match_all(const struct entry *entries, struct entry **row, size_t count,
		      uint32_t *firsts)
{
	size_t end;

	qsort(row, count, sizeof(*row), union_by_bytes);
	for (size_t begin = 0; begin < count; begin = end) {
		for (end = begin + 1; end < count; end++)
			if (!same_bytes(row[begin], row[end]))
				break;
		union_match(entries, row + begin, end - begin, firsts);
	}
}

/* Entries of all parts, in their order, matched. NULL: no memory. */
static struct entry *union_list(const struct joined *joined, size_t count)
{
	struct entry *entries = calloc(count, sizeof(*entries));
	struct entry **row = calloc(count, sizeof(*row));
	uint32_t *firsts = calloc(count, sizeof(*firsts));
	size_t at = 0;

	if (entries == NULL || row == NULL || firsts == NULL) {
		free(entries);
		entries = NULL;
		goto out;
	}
	for (unsigned part = 0; part < joined->count; part++)
		for (uint32_t i = 0; i < source_count(joined->parts[part]); i++) {
			entries[at] = (struct entry){.part = part, .sample = i};
			union_identify(joined->parts[part], &entries[at]);
			row[at] = &entries[at];
			at++;
		}
	match_all(entries, row, count, firsts);
out:
	free(firsts);
	free(row);
	return entries;
}

static bool union_allocate(struct joined *joined, uint32_t samples)
{
	joined->in = calloc((size_t)samples + 1, sizeof(*joined->in));
	for (unsigned i = 0; i < joined->count; i++) {
		joined->number[i] =
			malloc(((size_t)samples + 1) * sizeof(**joined->number));
		if (joined->number[i] == NULL)
			return false;
		for (uint32_t j = 0; j < samples; j++)
			joined->number[i][j] = UINT32_MAX;
	}
	return joined->in != NULL;
}

/* Numbers the samples, and enters who has them. */
static int union_number(struct joined *joined, struct entry *entries, size_t count)
{
	uint32_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += entries[i].first == i;
	if (!union_allocate(joined, samples))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct entry *entry = &entries[i];
		uint32_t is = entry->first == i ? joined->samples++
						: entries[entry->first].turn;

		entry->turn = is; /* from here on: its number */
		joined->in[is] |= UINT64_C(1) << entry->part;
		joined->number[entry->part][is] = entry->sample;
	}
	return 0;
}

/* The first part that has the sample, and its number there. */
static const struct source *union_where(const struct joined *joined, uint32_t *sample)
{
	unsigned part = (unsigned)__builtin_ctzll(joined->in[*sample]);

	*sample = joined->number[part][*sample];
	return joined->parts[part];
}

static uint32_t union_size(const void *state, uint32_t sample)
{
	const struct source *source = union_where(state, &sample);

	return source_size(source, sample);
}

static void union_add_facts(const struct source_facts *part, struct source_facts *facts)
{
	facts->ignored += part->ignored;
	facts->remote |= part->remote;
	facts->requests += part->requests;
	if (facts->features == NULL)
		facts->features = part->features;
	if (part->listing_age_s > facts->listing_age_s)
		facts->listing_age_s = part->listing_age_s;
}

static void union_facts(const struct joined *joined, struct source_facts *facts)
{
	uint64_t digests[LIMIT_PARTS];

	*facts = (struct source_facts){
		.count = joined->samples,
		.classes = source_facts(joined->parts[0])->classes,
	};
	for (unsigned i = 0; i < joined->count; i++) {
		union_add_facts(source_facts(joined->parts[i]), facts);
		digests[i] = source_facts(joined->parts[i])->digest;
	}
	facts->digest = XXH3_64bits(digests, joined->count * sizeof(*digests));
	for (uint32_t i = 0; i < joined->samples; i++)
		facts->bytes += union_size(joined, i);
}

static void *union_open(struct source *const *parts, unsigned count,
			struct source_facts *facts, struct error *err)
{
	struct joined *joined = calloc(1, sizeof(*joined));
	struct entry *entries = NULL;
	size_t entry_count = 0;

	for (unsigned i = 0; i < count; i++)
		entry_count += source_count(parts[i]);
	if (joined == NULL) {
		for (unsigned i = 0; i < count; i++)
			source_close(parts[i]);
		goto no_memory;
	}
	joined->count = count;
	for (unsigned i = 0; i < count; i++)
		joined->parts[i] = parts[i];
	if (entry_count == 0 || entry_count > UINT32_MAX) {
		error_set(err, EOVERFLOW, "the data sets have %zu samples, not 1 to %u",
			  entry_count, UINT32_MAX);
		goto fail;
	}
	entries = union_list(joined, entry_count);
	if (entries == NULL || union_number(joined, entries, entry_count) < 0)
		goto no_memory;
	free(entries);
	union_facts(joined, facts);
	return joined;
no_memory:
	error_sys(err, ENOMEM, "cannot join the data sets");
fail:
	free(entries);
	if (joined != NULL)
		union_close(joined);
	return NULL;
}

static uint32_t union_label(const void *state, uint32_t sample)
{
	const struct source *source = union_where(state, &sample);

	return source_label(source, sample);
}

static void union_place(const void *state, uint32_t sample, char *buffer,
			struct source_place *place)
{
	const struct source *source = union_where(state, &sample);

	source_place(source, sample, buffer, place);
}

static const char *union_class(const void *state, uint32_t label)
{
	const struct joined *joined = state;

	return source_class(joined->parts[0], label);
}

static const char *union_name(const void *state, uint32_t sample, char *buffer,
			      size_t size)
{
	const struct source *source = union_where(state, &sample);

	return source_name(source, sample, buffer, size);
}

static int union_unseal(const void *state, uint32_t sample, const void *bytes,
			struct source_part *part, const char **why)
{
	const struct source *source = union_where(state, &sample);

	return source_unseal(source, sample, bytes, part, why);
}

static bool union_outdated(const void *state, uint32_t sample)
{
	const struct source *source = union_where(state, &sample);

	return source_outdated(source, sample);
}

static const struct source_variant union_variant = {
	.kind = "union",
	.close = union_close,
	.size = union_size,
	.label = union_label,
	.place = union_place,
	.class = union_class,
	.name = union_name,
	.unseal = union_unseal,
	.outdated = union_outdated,
};

struct source *source_union(struct source *const *parts, unsigned count,
			    struct error *err)
{
	struct source_facts facts;
	void *state = union_open(parts, count, &facts, err);

	return state != NULL ? source_of(&union_variant, state, &facts, err) : NULL;
}

const struct source *source_part(const struct source *source, unsigned part)
{
	const struct joined *joined = source->state;

	return joined->parts[part];
}

const uint64_t *source_parts(const struct source *source)
{
	const struct joined *joined = source->state;

	return joined->in;
}

uint32_t source_in_part(const struct source *source, unsigned part, uint32_t sample)
{
	const struct joined *joined = source->state;

	return joined->number[part][sample];
}
