/* store_scan.c - goes through the objects of a folder, by their names. */
#include "loader/disk/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What no object of ours is called. A folder stays, unless it is empty. */
static void store_scan_drop(struct store *store, int folder, const char *name)
{
	if (unlinkat(folder, name, 0) < 0 && unlinkat(folder, name, AT_REMOVEDIR) < 0)
		return;
	store->dropped++;
	store->page->dropped++;
}

static bool store_scan_time(const struct store *store, int folder, const char *name,
			    int64_t *time_ns)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*time_ns = store_time(store, &status);
	return true;
}

static int store_scan_entry(struct store *store, const struct store_scan *scan,
			    int folder, unsigned number, const char *name)
{
	struct stored_key key = {.version = 0};
	int64_t time_ns = 0;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (!stored_read_name(name, &key) || key.id[0] >> 56 != number) {
		store_scan_drop(store, folder, name);
		return 0;
	}
	if (scan->times && !store_scan_time(store, folder, name, &time_ns))
		return 0; /* it was evicted meanwhile */
	return scan->each(scan->context, &key, time_ns);
}

static int store_scan_folder(struct store *store, const struct store_scan *scan,
			     unsigned number)
{
	const struct dirent *entry;
	char name[4];
	int fd, result = 0;
	DIR *dir;

	snprintf(name, sizeof(name), "%02x", number);
	fd = openat(store->folder, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return -ENOMEM;
	}
	while (result >= 0 && (entry = readdir(dir)) != NULL)
		result = store_scan_entry(store, scan, fd, number, entry->d_name);
	closedir(dir);
	return result;
}

int store_list(struct store *store, const struct store_scan *scan)
{
	int result = 0;

	for (unsigned i = 0; i < STORED_FOLDERS && result >= 0; i++)
		result = store_scan_folder(store, scan, i);
	return result;
}
