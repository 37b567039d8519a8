/* verify_copy.c - converts into the result's folder, where there is room, and cleans up. */
#include "cmd/run/verify_copy.h"
#include "cmd/common/progress.h"
#include "cmd/common/settings.h"
#include "cmd/common/signals.h"
#include "loader/base/error.h"
#include "models/predict/recipes.h"
#include "profiler/dataset/convert.h"
#include "profiler/run/apply.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define SPARE .05 /* of the room is left to others */

static atomic_bool copy_stop;

static void copy_ask_to_stop(int number)
{
	(void)number;
	atomic_store(&copy_stop, true);
}

static void copy_path(const struct verify_copies *copies, unsigned resize,
		      char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/.dsa-resize-%u", copies->folder, resize) >=
	    PATH_MAX)
		path[0] = '\0'; /* which can't be made */
}

static int copy_remove_entry(const char *path, const struct stat *status, int kind,
			     struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

static void copy_remove(const char *path)
{
	nftw(path, copy_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int copy_check_room(const struct verify_copies *copies,
			   const struct profile *profile, unsigned resize,
			   struct error *err)
{
	struct profile_change change = PROFILE_NO_CHANGE;
	struct recipe_effect effect;
	struct statvfs room;
	double bytes, have;

	change.resize = resize;
	if (recipes_effect(profile, &change, &effect, NULL) < 0)
		effect.bytes = 1; /* no more than it has now */
	bytes = (double)profile->dataset_bytes * effect.bytes;
	if (statvfs(copies->folder, &room) < 0)
		return error_sys(err, errno, "cannot use the folder %s",
				 copies->folder);
	have = (double)room.f_bavail * (double)room.f_frsize;
	if (bytes <= have * (1 - SPARE))
		return 0;
	return error_set(err, ENODATA,
			 "the copy takes about %.1f GB, and %s has room for %.1f GB",
			 bytes / 1e9, copies->folder, have / 1e9);
}

static int copy_convert(const struct verify_copies *copies,
			const struct profile *profile, unsigned resize,
			const char *path, struct error *err)
{
	struct progress progress;
	const struct convert_config config = {
		.from = profile->dataset,
		.to = path,
		.resize = resize,
		.quality = CONVERT_QUALITY,
		.threads = apply_cores(),
		.stop = &copy_stop,
		.progress = progress_wanted(copies->quiet) ? progress_show_of : NULL,
		.arg = &progress,
	};
	struct convert_result made;
	int result;

	signals_take(SIGINT, copy_ask_to_stop, 0);
	signals_take(SIGTERM, copy_ask_to_stop, 0);
	progress_begin(&progress, "pictures converted", 0);
	result = convert_run(&config, &made, err);
	progress_clear();
	signals_take(SIGINT, SIG_DFL, 0);
	signals_take(SIGTERM, SIG_DFL, 0);
	if (result == 0)
		convert_result_free(&made);
	return result == -ECANCELED ? -EINTR : result;
}

/* Makes it, unless it is there already, and writes its path. */
static int copy_make(struct verify_copies *copies, const struct profile *profile,
		     unsigned resize, char path[PATH_MAX], struct error *err)
{
	int result;

	copy_path(copies, resize, path);
	for (size_t i = 0; i < copies->count; i++)
		if (copies->sizes[i] == resize)
			return 0;
	if (copies->count == VERIFY_COPIES)
		return error_set(err, ENODATA, "at most %d sizes can be tried at once",
				 VERIFY_COPIES);
	copy_remove(path); /* of a dsa that was killed */
	result = copy_check_room(copies, profile, resize, err);
	if (result == 0)
		result = copy_convert(copies, profile, resize, path, err);
	if (result == 0)
		copies->sizes[copies->count++] = resize;
	return result == -ENOTSUP ? -ENODATA : result;
}

/* Replaces *text, settings of a loader, by the same with another data set. */
static int copy_use(char **text, const char *path)
{
	const struct settings settings = {.given = {[SETTING_DATASET] = path}};
	char *fresh = settings_loader(&settings, *text);

	if (fresh == NULL)
		return -ENOMEM;
	free(*text);
	*text = fresh;
	return 0;
}

int verify_copy_apply(struct verify_copies *copies, const struct profile *profile,
		      unsigned resize, struct apply *apply, struct error *err)
{
	char path[PATH_MAX];
	int result = copy_make(copies, profile, resize, path, err);

	if (result < 0)
		return result;
	result = copy_use(&apply->loader, path);
	for (char **text = apply->loaders; result == 0 && text != NULL && *text != NULL;
	     text++)
		result = copy_use(text, path);
	return result < 0 ? error_sys(err, ENOMEM, "trying changes") : 0;
}

void verify_copies_remove(const struct verify_copies *copies)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < copies->count; i++) {
		copy_path(copies, copies->sizes[i], path);
		copy_remove(path);
	}
}
