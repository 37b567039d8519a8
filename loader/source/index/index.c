/* index.c - builds, checks and reads the block of memory that is an index. */
#include "loader/source/index/index.h"
#include "loader/base/bytes/huge.h"
#include "loader/base/error.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* The last byte is the version; another byte order is another magic. */
static const uint64_t magic = UINT64_C(0x02587865646e4944);

/* Pointers into the block, whose head says where its parts begin. */
static void index_lay_out(struct index *index, void *block)
{
	index->head = block;
	index->folders = (struct index_folder *)(index->head + 1);
	index->offsets = (uint64_t *)(index->folders + index->head->folders);
	index->samples = (struct index_sample *)(index->offsets + index->head->offsets);
	index->classes = (uint32_t *)(index->samples + index->head->samples);
	index->text = (char *)(index->classes + index->head->classes);
}

/* Each count is 32 bits, so the sum cannot overflow. */
static uint64_t block_size(const struct index_head *head)
{
	return sizeof(*head) + head->folders * (uint64_t)sizeof(struct index_folder) +
	       head->offsets * (uint64_t)sizeof(uint64_t) +
	       head->samples * (uint64_t)sizeof(struct index_sample) +
	       head->classes * (uint64_t)sizeof(uint32_t) + head->text;
}

int index_new(struct index *index, const struct index_plan *plan, struct error *err)
{
	struct index_head head = {
		.folders = (uint32_t)plan->folders,
		.samples = (uint32_t)plan->samples,
		.classes = (uint32_t)plan->classes,
		.text = (uint32_t)plan->text,
		.offsets = plan->parts ? (uint32_t)plan->samples : 0,
	};
	void *block;

	if ((plan->folders | plan->samples | plan->classes | plan->text) > UINT32_MAX)
		return error_set(err, EOVERFLOW,
				 "%llu samples with %llu bytes of names are more than "
				 "an index holds (4 GiB of each)",
				 (unsigned long long)plan->samples,
				 (unsigned long long)plan->text);
	block = calloc(1, block_size(&head));
	if (block == NULL)
		return error_sys(err, ENOMEM, "cannot index %u samples", head.samples);
	huge_advise(block, block_size(&head));
	memcpy(head.magic, &magic, sizeof(magic));
	memcpy(block, &head, sizeof(head));
	*index = (struct index){0};
	index_lay_out(index, block);
	return 0;
}

void index_free(struct index *index)
{
	free(index->head);
	index->head = NULL;
}

static uint32_t index_add_text(struct index *index, const char *string)
{
	uint32_t at = index->used.text;
	size_t size = strlen(string) + 1;

	memcpy(index->text + at, string, size);
	index->used.text += (uint32_t)size;
	return at;
}

uint32_t index_add_folder(struct index *index, const char *path,
			  const struct index_stamp *stamp)
{
	index->folders[index->used.folders] = (struct index_folder){
		.stamp = *stamp,
		.path = index_add_text(index, path),
	};
	return index->used.folders++;
}

void index_add_sample(struct index *index, const char *name,
		      const struct index_sample *sample)
{
	struct index_sample *added = &index->samples[index->used.samples++];

	*added = *sample;
	added->name = index_add_text(index, name);
}

void index_add_offset(struct index *index, uint64_t offset)
{
	index->offsets[index->used.samples] = offset;
}

void index_add_class(struct index *index, const char *name)
{
	index->classes[index->used.classes++] = index_add_text(index, name);
}

void index_add_etag(struct index *index, const char *etag)
{
	index_add_text(index, etag);
}

const char *index_etag(const struct index *index, uint32_t sample)
{
	const struct index_sample *at = &index->samples[sample];
	const char *name =
		index->text +
		(index->head->offsets > 0 ? index->folders[at->folder].path : at->name);

	return name + strlen(name) + 1;
}

void index_add_features(struct index *index, const char *image, const char *label)
{
	index->head->features = index_add_text(index, image);
	index_add_text(index, label);
}

const char *index_features(const struct index *index)
{
	return index->head->features > 0 ? index->text + index->head->features : NULL;
}

bool index_has_etags(const struct index *index)
{
	const char *end = index->text + index->head->text;

	for (uint32_t i = 0; i < index->head->samples; i++)
		if (index_etag(index, i) >= end)
			return false;
	return true;
}

size_t index_size(const struct index *index)
{
	return block_size(index->head);
}

const char *index_path(const struct index *index, uint32_t sample, char *buffer)
{
	const struct index_sample *at = &index->samples[sample];
	const char *folder = index->text + index->folders[at->folder].path;
	const char *name = index->text + at->name;
	size_t length = strnlen(folder, PATH_MAX - 2);

	if (length == 0)
		return name;
	memcpy(buffer, folder, length);
	buffer[length++] = '/';
	buffer[PATH_MAX - 1] = '\0';
	memccpy(buffer + length, name, '\0', PATH_MAX - 1 - length);
	return buffer;
}

/* The path with its 0, then size and label, low byte first. */
static void digest_sample(const struct index *index, uint32_t sample,
			  XXH3_state_t *state)
{
	const struct index_sample *at = &index->samples[sample];
	const uint32_t numbers[] = {htole32(at->size), htole32(at->label)};
	char buffer[PATH_MAX];
	const char *path = index_path(index, sample, buffer);

	XXH3_64bits_update(state, path, strlen(path) + 1);
	XXH3_64bits_update(state, numbers, sizeof(numbers));
}

int index_finish(struct index *index, struct error *err)
{
	XXH3_state_t *state = XXH3_createState();

	if (state == NULL)
		return error_sys(err, ENOMEM, "cannot index the data set");
	XXH3_64bits_reset(state);
	index->head->bytes = 0;
	for (uint32_t i = 0; i < index->head->samples; i++) {
		index->head->bytes += index->samples[i].size;
		digest_sample(index, i, state);
	}
	index->head->digest = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	index_seal(index->head, index_size(index));
	return 0;
}

static uint64_t index_checksum(const void *block, size_t size)
{
	size_t skip = offsetof(struct index_head, folders);

	return XXH3_64bits((const char *)block + skip, size - skip);
}

void index_seal(void *block, size_t size)
{
	struct index_head *head = block;

	head->checksum = index_checksum(block, size);
}

static bool index_head_fits(const struct index_head *head, size_t size)
{
	return size >= sizeof(*head) &&
	       memcmp(head->magic, &magic, sizeof(magic)) == 0 &&
	       size == block_size(head) &&
	       head->checksum == index_checksum(head, size) && head->folders > 0 &&
	       head->samples > 0 && head->classes > 0 && head->text > 0 &&
	       (head->offsets == 0 || head->offsets == head->samples);
}

/* There are two strings. */
static bool features_fit(const struct index *index)
{
	const char *image = index_features(index);
	const char *end = index->text + index->head->text;

	return image == NULL || (image < end && image + strlen(image) + 1 < end);
}

static bool folders_fit(const struct index *index)
{
	for (uint32_t i = 0; i < index->head->folders; i++)
		if (index->folders[i].path >= index->head->text)
			return false;
	for (uint32_t i = 0; i < index->head->classes; i++)
		if (index->classes[i] >= index->head->text)
			return false;
	return true;
}

static bool samples_fit(const struct index *index)
{
	const struct index_head *head = index->head;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < head->samples; i++) {
		const struct index_sample *at = &index->samples[i];

		if (at->name >= head->text || at->folder >= head->folders ||
		    at->label >= head->classes)
			return false;
		bytes += at->size;
	}
	return bytes == head->bytes;
}

bool index_adopt(struct index *index, void *block, size_t size)
{
	struct index found = {0};

	if (!index_head_fits(block, size))
		return false;
	index_lay_out(&found, block);
	if (found.text[found.head->text - 1] != '\0' || !features_fit(&found) ||
	    !folders_fit(&found) || !samples_fit(&found))
		return false;
	*index = found;
	return true;
}

static int64_t index_nanoseconds(const struct timespec *time)
{
	return (int64_t)((uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec);
}

void index_stamp_set(struct index_stamp *stamp, const struct stat *status)
{
	*stamp = (struct index_stamp){
		.device = status->st_dev,
		.inode = status->st_ino,
		.modified_ns = index_nanoseconds(&status->st_mtim),
		.changed_ns = index_nanoseconds(&status->st_ctim),
	};
}

uint32_t index_bytes(const struct stat *status)
{
	return status->st_size > (off_t)UINT32_MAX ? UINT32_MAX
						   : (uint32_t)status->st_size;
}
