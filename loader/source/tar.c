/*
 * tar.c - tar archives with a picture or recording and its label side by side, as WebDataset
 * has them: "key.jpg", "key.cls", "other.jpg", "other.cls" ...
 *
 * A key is a name up to the first dot behind its last '/'; members with one key follow
 * each other. Names are never opened, so it does not matter where they would lead.
 */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source/index/file_kind.h"
#include "loader/source/shard/json_label.h"
#include "loader/source/shard/tar_reader.h"
#include "loader/source/shard/text_label.h"
#include "loader/source/shard_kinds.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

static bool tar_ends(const char *name, const char *const *endings)
{
	size_t length = strlen(name);

	for (; *endings != NULL; endings++) {
		size_t size = strlen(*endings);

		if (length > size && strcasecmp(name + length - size, *endings) == 0)
			return true;
	}
	return false;
}

static bool tar_plain(const char *name)
{
	static const char *const endings[] = {".tar", NULL};

	return tar_ends(name, endings);
}

static bool tar_compressed(const char *name)
{
	static const char *const endings[] = {".tar.gz",  ".tgz", ".tar.zst", ".tzst",
					      ".tar.xz",  ".txz", ".tar.bz2", ".tbz2",
					      ".tar.lz4", NULL};

	return tar_ends(name, endings);
}

static bool tar_any(const char *name)
{
	return tar_plain(name) || tar_compressed(name);
}

/* ---- samples ---- */

/* The members with one key, as they come. */
struct tar_group {
	const struct file_kind *kind; /* of samples */
	char key[PATH_MAX];
	size_t key_size;
	char name[PATH_MAX]; /* of the sample; "": none yet */
	uint64_t place[2];
	unsigned members;
	int rank; /* of the label; 0 is best, TAR_LABELS: none yet */
	char label[SHARD_LABEL];
};

static const char *const tar_labels[] = {"cls", "json", "txt"};
enum { TAR_LABELS = 3 };

/* The end of a name's key; what follows is "" or begins with a dot. */
static const char *tar_key_end(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strchrnul(slash != NULL ? slash + 1 : name, '.');
}

static int tar_member_error(const struct tar_member *member, const char *what,
			    struct error *err)
{
	char shown[NAME_SHOWN];

	return error_set(err, EINVAL, "'%s' %s",
			 name_escape(member->name, shown, sizeof(shown)), what);
}

/* Takes the label of a member, unless the group has a better one. */
static int tar_take_label(struct tar_reader *reader, const struct tar_member *member,
			  int rank, struct tar_group *group, struct error *err)
{
	bool json = strcmp(tar_labels[rank], "json") == 0;
	const char *text;
	int result;

	if (rank >= group->rank)
		return 0;
	text = tar_reader_bytes(reader, member, err);
	if (text == NULL)
		return -EIO;
	result = (json ? json_label : text_label)(text, (size_t)member->size,
						  group->label, SHARD_LABEL);
	if (result == 0)
		group->rank = rank;
	else if (result == -EMSGSIZE)
		return tar_member_error(
			member, "is no label: it is longer than 255 bytes", err);
	else if (result == -EBADMSG)
		return tar_member_error(
			member, json ? "is no JSON" : "is empty or has a 0 byte in it",
			err);
	return 0;
}

/* What the members with one key were: a sample, or nothing to us. */
static int tar_end_group(struct tar_group *group, struct shard_found *found,
			 struct error *err)
{
	const char *label = group->rank < TAR_LABELS ? group->label : NULL;
	int result = 0;

	if (group->name[0] != '\0')
		result = shard_found_add(found, group->name, label, group->place, err);
	else
		found->ignored += group->members;
	group->name[0] = '\0';
	group->members = 0;
	group->rank = TAR_LABELS;
	return result;
}

static int tar_add_sample(const struct tar_member *member, struct tar_group *group,
			  struct error *err)
{
	if (group->name[0] != '\0')
		return tar_member_error(member, "is a second sample with the same key",
					err);
	strcpy(group->name, member->name);
	group->place[0] = member->offset;
	group->place[1] = member->size;
	return 0;
}

/* A file: of the group that is there, or of a new one. */
static int tar_add_file(struct tar_reader *reader, const struct tar_member *member,
			struct tar_group *group, struct shard_found *found,
			struct error *err)
{
	const char *end = tar_key_end(member->name);
	size_t size = (size_t)(end - member->name);
	int result = 0;

	if (size != group->key_size || memcmp(group->key, member->name, size) != 0) {
		result = tar_end_group(group, found, err);
		memcpy(group->key, member->name, size);
		group->key_size = size;
	}
	if (result < 0)
		return result;
	if (*end == '.' && strchr(end + 1, '.') == NULL &&
	    file_kind_has(group->kind, end))
		return tar_add_sample(member, group, err);
	for (int rank = 0; *end == '.' && rank < TAR_LABELS; rank++)
		if (strcasecmp(end + 1, tar_labels[rank]) == 0) {
			group->members++;
			return tar_take_label(reader, member, rank, group, err);
		}
	found->ignored++;
	return 0;
}

static int tar_read_members(struct tar_reader *reader, struct tar_group *group,
			    struct shard_found *found, struct error *err)
{
	struct tar_member member;
	int result;

	while ((result = tar_reader_next(reader, &member, err)) > 0) {
		if (member.file)
			result = tar_add_file(reader, &member, group, found, err);
		else
			found->ignored++;
		if (result < 0)
			return result;
	}
	return result < 0 ? result : tar_end_group(group, found, err);
}

static int tar_read(const void *kind, const struct shard_object *object,
		    struct shard_found *found, struct error *err)
{
	struct tar_group *group = calloc(1, sizeof(*group));
	struct tar_reader reader;
	int result;

	if (group == NULL || tar_reader_init(&reader, object) < 0) {
		free(group);
		return error_sys(err, ENOMEM, "cannot be indexed");
	}
	group->kind = kind;
	group->rank = TAR_LABELS;
	result = tar_read_members(&reader, group, found, err);
	tar_reader_fini(&reader);
	free(group);
	return result;
}

/* ---- the data set ---- */

static int tar_refuse_compressed(const char *dataset, struct error *err)
{
	char shown[NAME_SHOWN];

	return error_set(err, ENOTSUP,
			 "'%s' is compressed, so samples can't be read from the middle "
			 "of it: dsa dataset convert --format tar unpacks it",
			 name_escape(dataset, shown, sizeof(shown)));
}

const struct shard_kind shard_tar = {
	.shown = "*.tar",
	.any = tar_any,
	.named = tar_plain,
	.refuse = tar_refuse_compressed,
	.read = tar_read,
	.wanted =
		"members such as 7.jpg, or of recordings 7.wav, with 7.cls, 7.json or "
		"7.txt",
	.label = ".cls, .json or .txt",
};

static bool tar_claims(const char *dataset, const struct stat *status,
		       const struct source_config *config)
{
	return shards_claim(dataset, status, config, tar_any);
}

static void *tar_open(const char *dataset, const struct source_config *config,
		      struct source_facts *facts, struct error *err)
{
	return shard_kind_open(&shard_tar, dataset, config, facts, err);
}

const struct source_variant source_tar = {.kind = "tar",
					  .claims = tar_claims,
					  .open = tar_open,
					  .name = indexed_part_name,
					  INDEXED};
