/* class_names_fuzz.c - names of classes from a loader: refused, or each can be read. */
#include "loader/base/error.h"
#include "loader/share/wire/class_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	char *names = NULL;
	uint32_t count;
	int fd;

	if (size < 1)
		return 0;
	count = data[0];
	fd = memfd_create("names", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	if (class_names_read(fd, count, &names, &err) < 0 && err.message[0] == '\0')
		abort();
	for (uint32_t i = 0; names != NULL && i < count; i++)
		if (strlen(class_names_get(names, count, i)) >= size)
			abort();
	free(names);
	close(fd);
	return 0;
}
