/* form.c - the table of forms of a result. */
#include "reports/form.h"
#include "loader/base/error.h"
#include "reports/common/file.h"
#include "reports/json/json.h"
#include "reports/terminal/terminal.h"

#include <errno.h>
#include <string.h>

static int form_json(const struct profile *profile, const struct form_style *style,
		     FILE *out, struct error *err)
{
	(void)style;
	return json_result_write(profile, out, err);
}

static const struct form forms[] = {
	{"text", terminal_write}, {"html", html_write},         {"json", form_json},
	{"csv", csv_write},       {"markdown", markdown_write}, {NULL, NULL},
};

const struct form *form_find(const char *name, struct error *err)
{
	for (const struct form *form = forms; form->name != NULL; form++)
		if (strcmp(form->name, name) == 0)
			return form;
	return error_null(
		error_set(err, EINVAL, "no report form is called '%s'", name));
}

struct saving {
	const struct form *form;
	const struct profile *profile;
};

static int form_fill(FILE *out, const void *context, struct error *err)
{
	const struct saving *saving = context;
	const struct form_style style = {0};

	return saving->form->write(saving->profile, &style, out, err);
}

int form_save(const char *name, const struct profile *profile, const char *path,
	      struct error *err)
{
	struct saving saving = {form_find(name, err), profile};

	return saving.form == NULL ? -EINVAL : file_save(path, form_fill, &saving, err);
}
