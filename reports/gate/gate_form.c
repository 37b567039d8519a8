/* gate_form.c - finds a form by its name, and writes it to a file. */
#include "reports/gate/gate_form.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "reports/common/file.h"
#include "reports/gate/gate_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct gate_form {
	const char *name;
	gate_part_form *write;
} gate_forms[] = {
	{"text", gate_text_write},
	{"json", gate_json_write},
	{"junit", gate_junit_write},
	{"markdown", gate_comment_write},
	{"summary", gate_summary_write},
	{"github", gate_github_write},
	{NULL, NULL},
};

static const struct gate_form *gate_form_find(const char *name, struct error *err)
{
	for (const struct gate_form *form = gate_forms; form->name != NULL; form++)
		if (strcmp(form->name, name) == 0)
			return form;
	return error_null(
		error_set(err, EINVAL, "no form of a verdict is called '%s'", name));
}

int gate_form_write(const char *name, const struct gate_report *report,
		    const struct form_style *style, FILE *out, struct error *err)
{
	const struct gate_form *form = gate_form_find(name, err);
	const struct gate_finding **ranked;
	int result = -ENOMEM;

	if (form == NULL)
		return -EINVAL;
	ranked = gate_part_rank(report->verdict);
	if (ranked != NULL)
		result = form->write(report, ranked, style, out, err);
	free(ranked);
	return result == -ENOMEM
		       ? error_set(err, ENOMEM, "no memory to write the verdict")
		       : result;
}

struct saving {
	const char *form;
	const struct gate_report *report;
};

static int gate_form_fill(FILE *out, const void *context, struct error *err)
{
	const struct saving *saving = context;
	const struct form_style style = {0};

	return gate_form_write(saving->form, saving->report, &style, out, err);
}

/* Appends all, or restores the file's length: half would hide what follows. */
static int write_after(int fd, off_t before, const char *text, size_t size,
		       struct error *err)
{
	int result = io_write(fd, text, size);

	if (result == 0)
		return 0;
	if (ftruncate(fd, before) < 0 && errno != EINVAL)
		return error_sys(err, errno, "can't take back half a verdict");
	return error_sys(err, -result, "can't write");
}

static int append_to(int fd, const struct saving *saving, struct error *err)
{
	struct gate_report report = *saving->report;
	const struct form_style style = {0};
	struct stat about;
	char *text = NULL;
	size_t size;
	FILE *out;
	int result;

	if (fstat(fd, &about) < 0)
		return error_sys(err, errno, "can't write");
	report.before = S_ISREG(about.st_mode) ? (size_t)about.st_size : 0;
	out = open_memstream(&text, &size);
	if (out == NULL)
		return error_set(err, ENOMEM, "no memory");
	result = gate_form_write(saving->form, &report, &style, out, err);
	if (io_text(out, &text) == NULL && result == 0)
		result = error_set(err, ENOMEM, "no memory");
	if (result == 0)
		result = write_after(fd, about.st_size, text, size, err);
	free(text);
	return result;
}

static int gate_form_append(const struct saving *saving, const char *path,
			    struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	int result;

	if (fd < 0)
		return error_sys(err, errno, "%s: can't write", path);
	result = append_to(fd, saving, err);
	if (close(fd) < 0 && result == 0)
		return error_sys(err, errno, "%s: can't write", path);
	return result < 0 ? error_within(err, result, "%s", path) : 0;
}

static int gate_form_print(const struct saving *saving, struct error *err)
{
	int result = gate_form_fill(stdout, saving, err);

	errno = 0;
	if (result == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		result = error_sys(err, errno == 0 ? EIO : errno,
				   "standard output: can't write");
	return result;
}

int gate_form_save(const char *name, const struct gate_report *report, const char *path,
		   bool append, struct error *err)
{
	const struct saving saving = {name, report};

	if (gate_form_find(name, err) == NULL)
		return -EINVAL;
	if (strcmp(path, "-") == 0)
		return gate_form_print(&saving, err);
	return append ? gate_form_append(&saving, path, err)
		      : file_save(path, gate_form_fill, &saving, err);
}
