/* reader_parts.c - finds room for samples that are read together. */
#include "loader/fetch/reader_parts.h"
#include "loader/base/blob.h"
#include "loader/fetch.h"
#include "loader/fetch/reader.h"
#include "loader/source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The next sample, which ends behind the one before, and what lies between them, for which
 * there is no room yet. Returns how much that is, or -1: no memory. */
static ssize_t reader_parts_add(struct reader_parts *parts, struct blob_pool *pool,
				const struct source_place *place)
{
	struct blob *blob = blob_pool_take(pool, place->size);
	uint64_t end = parts->from + parts->bytes;
	size_t gap = 0, shared = 0;

	if (blob == NULL)
		return -1;
	if (parts->count == 0)
		parts->from = place->offset;
	else if (place->offset > end)
		gap = place->offset - end;
	else
		shared = end - place->offset;
	if (gap > 0)
		parts->vec[parts->vecs++] = (struct iovec){.iov_len = gap};
	parts->vec[parts->vecs++] = (struct iovec){.iov_base = blob->data + shared,
						   .iov_len = place->size - shared};
	parts->bytes += gap + place->size - shared;
	parts->samples[parts->count++] =
		(struct reader_part){.blob = blob, .shared = shared};
	return (ssize_t)gap;
}

struct reader_parts *reader_parts_new(const struct reader *reader,
				      const struct fetch_job *job)
{
	struct reader_parts *parts =
		calloc(1, sizeof(*parts) + 2 * job->count * sizeof(*parts->vec));
	ssize_t gap = 0, most = 0;

	if (parts == NULL)
		return NULL;
	parts->samples = calloc(job->count, sizeof(*parts->samples));
	for (uint32_t i = 0; parts->samples != NULL && gap >= 0 && i < job->count;
	     i++) {
		struct source_place place;
		char path[PATH_MAX];

		source_place(reader->source, job->members[i], path, &place);
		gap = reader_parts_add(parts, reader->pool, &place);
		most = gap > most ? gap : most;
	}
	if (most > 0)
		parts->gap = blob_pool_take(reader->pool, (size_t)most);
	if (parts->count < job->count || (most > 0 && parts->gap == NULL)) {
		reader_parts_free(parts);
		return NULL;
	}
	for (unsigned i = 0; i < parts->vecs; i++)
		if (parts->vec[i].iov_base == NULL)
			parts->vec[i].iov_base = parts->gap->data;
	return parts;
}

void reader_parts_free(struct reader_parts *parts)
{
	if (parts == NULL)
		return;
	for (uint32_t i = 0; i < parts->count; i++)
		blob_put(parts->samples[i].blob);
	blob_put(parts->gap);
	free(parts->samples);
	free(parts);
}

void reader_parts_fill(struct reader_parts *parts)
{
	for (uint32_t i = 1; i < parts->count; i++) {
		const struct blob *before = parts->samples[i - 1].blob;
		size_t shared = parts->samples[i].shared;

		memcpy(parts->samples[i].blob->data,
		       before->data + (before->size - shared), shared);
	}
}

unsigned reader_parts_chunk(const struct reader_parts *parts, unsigned at,
			    size_t *bytes)
{
	unsigned count = 0;

	for (; at + count < parts->vecs && count < IOV_MAX; count++)
		*bytes += parts->vec[at + count].iov_len;
	return count;
}
