/* result.c - reads and writes the folder of a result. */
#include "cmd/common/result.h"
#include "loader/base/choice.h"
#include "loader/base/error.h"
#include "profiler/run/run_folder.h"
#include "reports/form.h"
#include "reports/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Never in place of the result of a run before. */
static int result_keep_recovered(const char *folder, const struct profile *profile,
				 struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/run.json", folder);
	return access(path, F_OK) == 0 ? -EEXIST : result_save(folder, profile, err);
}

/* What the run in a folder left: a session when its dsa died, else run.json. */
static int load_folder(const char *folder, struct profile *profile, struct error *err)
{
	int result = run_folder_recover(folder, result_keep_recovered, profile, err);
	char *path = NULL;

	if (result != -ENOENT)
		return result;
	if (asprintf(&path, "%s/run.json", folder) < 0)
		return error_set(err, ENOMEM, "no memory");
	result = json_result_load(path, profile, err);
	free(path);
	if (result == -ENOENT)
		error_set(err, ENOENT,
			  "%s holds no result of a run: neither run.json nor a session",
			  folder);
	return result;
}

int result_load(const char *run, struct profile *profile, struct error *err)
{
	struct stat about;

	if (stat(run, &about) < 0)
		return error_sys(err, errno, "can't open %s", run);
	return S_ISDIR(about.st_mode) ? load_folder(run, profile, err)
				      : json_result_load(run, profile, err);
}

int result_where(const char *run, char *folder, struct error *err)
{
	const char *slash = strrchr(run, '/'), *name = slash != NULL ? slash + 1 : run;
	struct stat about;
	int length;

	if (stat(run, &about) < 0)
		return error_sys(err, errno, "can't open %s", run);
	if (S_ISDIR(about.st_mode))
		length = snprintf(folder, PATH_MAX, "%s", run);
	else if (strcmp(name, "run.json") != 0)
		return error_set(err, EINVAL,
				 "%s is no run.json: name a folder for the result (-o)",
				 run);
	else
		length = snprintf(folder, PATH_MAX, "%.*s", (int)(name - run), run);
	if (length == 0)
		strcpy(folder, ".");
	return length < PATH_MAX ? 0 : error_sys(err, ENAMETOOLONG, "%s", run);
}

static int result_make_folder(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	size_t length = strlen(folder);

	if (length == 0 || length >= sizeof(path))
		return error_set(err, EINVAL, "--output is a folder, not '%s'", folder);
	memcpy(path, folder, length + 1);
	for (char *slash = path + 1; slash != NULL; slash++) {
		slash = strchr(slash, '/');
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return error_sys(err, errno, "cannot make the folder %s", path);
		if (slash == NULL)
			return 0;
		*slash = '/';
	}
	return 0;
}

/* Better to fail now than when everything is measured. */
static int try_folder(const char *folder, struct error *err)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	else if ((errno != EOPNOTSUPP && errno != EISDIR) ||
		 access(folder, W_OK | X_OK) < 0)
		return error_sys(err, errno, "cannot write into %s", folder);
	return 0;
}

/* 1: dsa has written it, or nobody anything; 0: somebody else has; -errno. */
static int result_is_ours(FILE *file)
{
	bool ours = false, some = false;
	char *line = NULL;
	size_t room = 0;
	int code;

	while (!ours && getline(&line, &room, file) > 0) {
		some = true;
		ours = strstr(line, "\"dsa.result/") != NULL;
	}
	code = errno;
	free(line);
	return ours || feof(file) ? ours || !some : -code;
}

int result_replaces(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	struct stat status;
	FILE *file;
	int ours;

	snprintf(path, sizeof(path), "%s/run.json", folder);
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	file = fopen(path, "re");
	if (file == NULL)
		return error_sys(err, errno, "cannot read %s", path);
	ours = result_is_ours(file);
	fclose(file);
	if (ours < 0)
		return error_sys(err, -ours, "cannot read %s", path);
	return ours ? 0
		    : error_set(err, EEXIST,
				"%s is no result of dsa run: move it away, or take "
				"another folder (--output)",
				path);
}

int result_folder(const char *folder, struct error *err)
{
	int result = result_make_folder(folder, err);

	return result < 0 ? result : try_folder(folder, err);
}

int result_save(const char *folder, const struct profile *profile, struct error *err)
{
	static const struct {
		const char *form, *name;
	} files[] = {{"json", "run.json"}, {"html", "report.html"}};
	char path[PATH_MAX];
	int result = 0;

	for (size_t i = 0; result == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		result = form_save(files[i].form, profile, path, err);
	}
	return result;
}

const char *result_form(const char *asked, const char *output, const char *forms)
{
	const char *dot = output != NULL ? strrchr(output, '.') : NULL;

	if (asked != NULL)
		return asked;
	if (dot == NULL)
		return "text";
	if (strcmp(dot, ".md") == 0)
		return "markdown";
	return choice_find(forms, dot + 1) >= 0 ? dot + 1 : "text";
}
