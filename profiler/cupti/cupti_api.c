/* cupti_api.c - finds libcupti and its functions. */
#include "profiler/cupti/cupti_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first names have a number each, of the interface; before CUDA 12 it is of the
 * toolkit. */
static const char *const cupti_names[] = {"libcupti.so.13", "libcupti.so.12",
					  "libcupti.so.11.8"};

static const char *const cupti_folders[] = {
	"/usr/local/cuda/extras/CUPTI/lib64",
	"/usr/local/cuda/lib64",
	"/usr/local/cuda/lib",
	"/opt/cuda/extras/CUPTI/lib64",
	"/opt/cuda/lib64",
};

enum {
	NAMES = sizeof(cupti_names) / sizeof(cupti_names[0]),
	FOLDERS = sizeof(cupti_folders) / sizeof(cupti_folders[0]),
	PATH = 128
};

static void *cupti_open_told(const char *told, char *path, char *text, size_t room)
{
	void *library = dlopen(told, RTLD_NOW | RTLD_LOCAL);

	snprintf(path, PATH, "%s", told);
	if (library == NULL)
		snprintf(text, room, "DSA_CUPTI can't be opened: %s", dlerror());
	return library;
}

/* Each name in the process, then on the linker's path, then in each folder. */
static void *cupti_open_named(unsigned place, char *path)
{
	unsigned row = place / NAMES;
	const char *folder = row < 2 ? "" : cupti_folders[row - 2];

	snprintf(path, PATH, "%s%s%s", folder, row < 2 ? "" : "/",
		 cupti_names[place % NAMES]);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL | (row == 0 ? RTLD_NOLOAD : 0));
}

/* One that was told ends the search. */
static void *cupti_open_next(unsigned *place, char *path, char *text, size_t room)
{
	const char *told = getenv("DSA_CUPTI");
	void *library = NULL;

	while (library == NULL && *place < (2 + FOLDERS) * NAMES) {
		if (*place == NAMES && told != NULL && *told != '\0') {
			*place = UINT_MAX;
			return cupti_open_told(told, path, text, room);
		}
		library = cupti_open_named((*place)++, path);
	}
	return library;
}

/* Sets *function, a pointer to a function of any type. */
static bool cupti_symbol(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

/* The first function that is needed and missing; NULL: all are there. */
static const char *cupti_resolve(void *library, struct cupti_api *api)
{
#define CUPTI_SYMBOL(name, arguments)                                                  \
	if (!cupti_symbol(library, #name, &api->name))                                 \
		return #name;
	CUPTI_NEEDED(CUPTI_SYMBOL)
#undef CUPTI_SYMBOL
#define CUPTI_SYMBOL(name, arguments) cupti_symbol(library, #name, &api->name);
	CUPTI_WANTED(CUPTI_SYMBOL)
#undef CUPTI_SYMBOL
	return NULL;
}

bool cupti_api_open(struct cupti_api *api, unsigned *place, char *text, size_t room)
{
	char path[PATH];
	void *library;

	snprintf(text, room,
		 "no libcupti.so.13, .12 or .11.8 was found: name one in DSA_CUPTI");
	while ((library = cupti_open_next(place, path, text, room)) != NULL) {
		const char *missing;

		memset(api, 0, sizeof(*api));
		missing = cupti_resolve(library, api);
		if (missing == NULL) {
			snprintf(text, room, "%s", path);
			return true;
		}
		snprintf(text, room, "%s has no %s", path, missing);
	}
	return false;
}
