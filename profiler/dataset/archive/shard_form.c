/* shard_form.c - tar as WebDataset has it: 000007.jpg and 000007.txt, and where that
 * does not tell the label 000007.cls before it; and TFRecord. */
#include "profiler/dataset/archive/shard_form.h"
#include "profiler/dataset/archive/record_archive.h"
#include "profiler/dataset/archive/tar_archive.h"

#include <stdio.h>
#include <string.h>

void shard_form_path(const struct shard_form *form, uint32_t file,
		     char path[SHARD_PATH])
{
	snprintf(path, SHARD_PATH, "shard-%06u%s", file, form->ending);
}

static int shard_tar_add(struct archive *archive, const struct shard_sample *sample)
{
	char name[TAR_ARCHIVE_NAME], label[16];
	int result;

	snprintf(name, sizeof(name), "%06u.%s", sample->number, sample->ending);
	result = tar_archive_add(archive, name, sample->bytes, sample->size);
	if (result == 0 && sample->numbered) {
		snprintf(name, sizeof(name), "%06u.cls", sample->number);
		snprintf(label, sizeof(label), "%u", sample->label);
		result = tar_archive_add(archive, name, label, strlen(label));
	}
	if (result < 0)
		return result;
	snprintf(name, sizeof(name), "%06u.txt", sample->number);
	return tar_archive_add(archive, name, sample->class, strlen(sample->class));
}

static int shard_record_end(struct archive *archive)
{
	(void)archive;
	return 0;
}

const struct shard_form shard_form_tar = {".tar", shard_tar_add, tar_archive_end};
const struct shard_form shard_form_tfrecord = {".tfrecord", record_archive_add,
					       shard_record_end};
