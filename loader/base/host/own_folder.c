/* own_folder.c - asks the dynamic linker, and the kernel of a program that was called by its
 * name alone. */
#include "loader/base/host/own_folder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool own_folder(char folder[PATH_MAX])
{
	static const char here;
	char found[PATH_MAX];
	Dl_info info;
	char *slash;

	if (dladdr(&here, &info) == 0 || realpath(info.dli_fname, found) == NULL) {
		ssize_t length = readlink("/proc/self/exe", found, sizeof(found) - 1);

		if (length <= 0)
			return false;
		found[length] = '\0';
	}
	slash = strrchr(found, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	memcpy(folder, found, (size_t)(slash - found) + 1);
	return true;
}
