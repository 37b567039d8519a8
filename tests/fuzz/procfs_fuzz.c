/* Whatever a kernel or a container writes into /proc, reading it does no harm. */
#include "loader/base/host/procfs.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct procfs_mount mount;
	uint64_t value;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	procfs_list(text, &value);
	procfs_value(text, "MemTotal:", &value);
	if (procfs_mount_parse(text, &mount))
		procfs_word(mount.options, mount.type);
	free(text);
	return 0;
}
