/* scan.c - lists a tree of folders by several threads. */
#include "loader/source/scan.h"
#include "loader/base/bytes/array.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/thread_pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FOLDERS_MAX = 1 << 22, /* links among folders can multiply them endlessly */
	READ_SIZE = 1 << 16,   /* bytes of directory entries at a time */
};

struct scan {
	const struct scan_config *config;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t news;  /* more folders are pending, or none will come */
	struct scan_folder *pending;
	unsigned busy;    /* threads that read a folder */
	unsigned folders; /* found so far */
	bool failed;
	struct error err; /* the first failure */
};

int scan_order(const char *a, bool a_is_folder, const char *b, bool b_is_folder)
{
	unsigned char x, y;

	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	x = *a == '\0' && a_is_folder ? '/' : (unsigned char)*a;
	y = *b == '\0' && b_is_folder ? '/' : (unsigned char)*b;
	return (x > y) - (x < y);
}

static int compare_files(const void *a, const void *b)
{
	const struct scan_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_folders(const void *a, const void *b)
{
	struct scan_folder *const *x = a, *const *y = b;

	return scan_order((*x)->name, true, (*y)->name, true);
}

static struct scan_folder *folder_new(struct scan_folder *parent, const char *name)
{
	size_t above = parent != NULL ? strlen(parent->path) : 0;
	size_t slash = above > 0;
	size_t size = above + slash + strlen(name) + 1;
	struct scan_folder *folder = calloc(1, sizeof(*folder) + size);

	if (folder == NULL)
		return NULL;
	if (above > 0) {
		memcpy(folder->path, parent->path, above);
		folder->path[above] = '/';
	}
	memcpy(folder->path + above + slash, name, size - above - slash);
	folder->name = folder->path + above + slash;
	folder->parent = parent;
	return folder;
}

void scan_free(struct scan_folder *folder)
{
	if (folder == NULL)
		return;
	for (uint32_t i = 0; i < folder->folder_count; i++)
		scan_free(folder->folders[i]);
	free(folder->folders);
	free(folder->files);
	free(folder->text);
	free(folder);
}

static int no_memory(struct error *err)
{
	return error_sys(err, ENOMEM, "cannot index the data set");
}

static const char *scan_shown(const struct scan *scan, const char *path,
			      char buffer[NAME_SHOWN])
{
	char whole[2 * PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", scan->config->dataset,
		 path[0] != '\0' ? "/" : "", path);
	return name_escape(whole, buffer, NAME_SHOWN);
}

static int scan_add_file(struct scan_folder *folder, const char *name, uint32_t size,
			 struct error *err)
{
	size_t length = strlen(name) + 1;
	struct scan_file *files = array_grow(folder->files, &folder->file_room,
					     folder->file_count + 1ul, sizeof(*files));
	char *text;

	if (files == NULL)
		return no_memory(err);
	folder->files = files;
	text = array_grow(folder->text, &folder->text_room, folder->text_used + length,
			  1);
	if (text == NULL)
		return no_memory(err);
	folder->text = text;
	memcpy(text + folder->text_used, name, length);
	files[folder->file_count++] =
		(struct scan_file){.at = folder->text_used, .size = size};
	folder->text_used += length;
	return 0;
}

static int scan_add_folder(struct scan_folder *folder, const char *name,
			   struct error *err)
{
	struct scan_folder **folders =
		array_grow(folder->folders, &folder->folder_room,
			   folder->folder_count + 1ul, sizeof(*folders));

	if (folders == NULL)
		return no_memory(err);
	folder->folders = folders;
	folders[folder->folder_count] = folder_new(folder, name);
	if (folders[folder->folder_count] == NULL)
		return no_memory(err);
	folder->folder_count++;
	return 0;
}

/* A name that is no folder for certain, and may be a link to one. */
static int add_other(const struct scan *scan, struct scan_folder *folder, int fd,
		     const struct dirent64 *entry, struct error *err)
{
	bool sample = file_kind_has(scan->config->kind, entry->d_name);
	struct stat status = {.st_mode = S_IFREG};

	if (sample || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)
		/* What cannot be reached stays a sample: its read will be counted as
		 * failed, and named. */
		(void)fstatat(fd, entry->d_name, &status, 0);
	if (S_ISDIR(status.st_mode))
		return scan_add_folder(folder, entry->d_name, err);
	if (sample && S_ISREG(status.st_mode))
		return scan_add_file(folder, entry->d_name, index_bytes(&status), err);
	folder->ignored++;
	return 0;
}

static int add_entry(const struct scan *scan, struct scan_folder *folder, int fd,
		     const struct dirent64 *entry, struct error *err)
{
	const char *name = entry->d_name;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (name[0] == '.' || strcmp(name, "lost+found") == 0) {
		folder->ignored++;
		return 0;
	}
	if (strlen(folder->path) + 1 + strlen(name) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG,
				 "a path is longer than %d bytes: move the data set's "
				 "folders closer to its top",
				 PATH_MAX - 1);
	if (entry->d_type == DT_DIR)
		return scan_add_folder(folder, name, err);
	return add_other(scan, folder, fd, entry, err);
}

static int read_entries(const struct scan *scan, struct scan_folder *folder, int fd,
			struct error *err)
{
	_Alignas(struct dirent64) char buffer[READ_SIZE];
	ssize_t length;
	int result = 0;

	while (result == 0 && (length = getdents64(fd, buffer, sizeof(buffer))) != 0) {
		if (length < 0)
			return error_sys(err, errno, "cannot list it");
		for (ssize_t at = 0; at < length && result == 0;) {
			const struct dirent64 *entry = (const void *)(buffer + at);

			result = add_entry(scan, folder, fd, entry, err);
			at += entry->d_reclen;
		}
	}
	return result;
}

static int refuse_loop(const struct scan *scan, const struct scan_folder *folder,
		       struct error *err)
{
	char link[NAME_SHOWN], target[NAME_SHOWN / 2];
	const struct scan_folder *above = folder->parent;

	for (; above != NULL; above = above->parent)
		if (above->stamp.device == folder->stamp.device &&
		    above->stamp.inode == folder->stamp.inode)
			return error_set(err, ELOOP,
					 "%s leads back to %s, which it lies in: "
					 "remove the link",
					 scan_shown(scan, folder->path, link),
					 above->path[0] == '\0'
						 ? "the data set itself"
						 : name_escape(above->path, target,
							       sizeof(target)));
	return 0;
}

static void scan_sort(struct scan_folder *folder)
{
	for (uint32_t i = 0; i < folder->file_count; i++)
		folder->files[i].name = folder->text + folder->files[i].at;
	if (folder->file_count > 0)
		qsort(folder->files, folder->file_count, sizeof(*folder->files),
		      compare_files);
	if (folder->folder_count > 0)
		qsort(folder->folders, folder->folder_count, sizeof(*folder->folders),
		      compare_folders);
}

static int read_folder(const struct scan *scan, struct scan_folder *folder,
		       struct error *err)
{
	const char *path = folder->path[0] != '\0' ? folder->path : ".";
	int fd = openat(scan->config->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buffer[NAME_SHOWN];
	struct stat status;
	int result;

	if (fd < 0 || fstat(fd, &status) < 0) {
		result = error_sys(err, errno, "cannot read the folder %s",
				   scan_shown(scan, folder->path, buffer));
		goto out;
	}
	index_stamp_set(&folder->stamp, &status);
	result = refuse_loop(scan, folder, err);
	if (result < 0)
		goto out;
	result = read_entries(scan, folder, fd, err);
	if (result < 0)
		error_within(err, result, "%s", scan_shown(scan, folder->path, buffer));
	scan_sort(folder);
out:
	if (fd >= 0)
		close(fd);
	return result;
}

/* The next folder to read; waits while others may still find some. Under the lock. */
static struct scan_folder *scan_take(struct scan *scan)
{
	struct scan_folder *folder;

	while (scan->pending == NULL && scan->busy > 0 && !scan->failed)
		pthread_cond_wait(&scan->news, &scan->lock);
	if (scan->pending == NULL || scan->failed)
		return NULL;
	folder = scan->pending;
	scan->pending = folder->next;
	scan->busy++;
	return folder;
}

/* Under the lock. */
static void hand_in(struct scan *scan, const struct scan_folder *folder, int result,
		    const struct error *err)
{
	scan->busy--;
	for (uint32_t i = 0; i < folder->folder_count; i++) {
		folder->folders[i]->next = scan->pending;
		scan->pending = folder->folders[i];
	}
	scan->folders += folder->folder_count;
	if (result < 0 && !scan->failed) {
		scan->failed = true;
		scan->err = *err;
	}
	if (scan->folders > FOLDERS_MAX && !scan->failed) {
		scan->failed = true;
		error_set(&scan->err, E2BIG, "over %d folders: do links multiply them?",
			  FOLDERS_MAX);
	}
	pthread_cond_broadcast(&scan->news);
}

static void scan_work(void *context)
{
	struct scan *scan = context;
	struct scan_folder *folder;

	pthread_mutex_lock(&scan->lock);
	while ((folder = scan_take(scan)) != NULL) {
		struct error err = {0};
		int result;

		pthread_mutex_unlock(&scan->lock);
		result = read_folder(scan, folder, &err);
		pthread_mutex_lock(&scan->lock);
		hand_in(scan, folder, result, &err);
	}
	pthread_mutex_unlock(&scan->lock);
}

struct scan_folder *scan_tree(const struct scan_config *config, struct error *err)
{
	struct scan_folder *top = folder_new(NULL, "");
	struct scan scan = {
		.config = config,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.news = PTHREAD_COND_INITIALIZER,
		.pending = top,
	};

	if (top == NULL) {
		no_memory(err);
		return NULL;
	}
	thread_pool_run(config->threads, scan_work, &scan);
	if (!scan.failed)
		return top;
	error_set(err, scan.err.code, "%s", scan.err.message);
	scan_free(top);
	return NULL;
}
