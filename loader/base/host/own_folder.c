/* own_folder.c - asks the dynamic linker where a library lies, the kernel where a program does. */
#include "loader/base/host/own_folder.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the library or program that holds this code. */
static bool own_folder(char folder[PATH_MAX])
{
	static const char here;
	void *map = NULL;
	Dl_info info;
	char *slash;

	if (dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) == 0 ||
	    ((const struct link_map *)map)->l_name[0] == '\0' ||
	    realpath(info.dli_fname, folder) == NULL) {
		ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);

		if (length <= 0)
			return false;
		folder[length] = '\0';
	}
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

bool own_folder_find(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = {"", "/dsa", "/../lib/dsa", "/../dsa"};
	char own[PATH_MAX];
	bool known = own_folder(own);

	for (size_t i = 0; known && i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(path, PATH_MAX, "%s%s/%s", own, places[i], name) <
			    PATH_MAX &&
		    access(path, R_OK) == 0)
			return true;
	path[0] = '\0';
	return false;
}
