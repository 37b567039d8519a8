/* cmd.c - how a command fails, and how it prints JSON. */
#include "cmd/common/cmd.h"
#include "loader/base/error.h"
#include "reports/common/escape.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

int cmd_fail(const struct error *err)
{
	fputs("dsa: ", stderr);
	escape_plain(stderr, err->message);
	putc('\n', stderr);
	return 3;
}

int cmd_refuse(const struct error *err)
{
	int status = cmd_fail(err);

	return err->code == EINVAL ? 2 : status;
}

void cmd_warn(const char *what, const char *message)
{
	fprintf(stderr, "dsa: %s: ", what);
	escape_plain(stderr, message);
	putc('\n', stderr);
}

int cmd_print_json(struct json_t *object, size_t digits)
{
	const struct error err = {ENOMEM, "no memory for the figures"};
	int rc = object == NULL ? -1
				: json_dumpf(object, stdout,
					     JSON_INDENT(2) | JSON_SORT_KEYS |
						     JSON_REAL_PRECISION(digits));

	json_decref(object);
	if (rc < 0)
		return cmd_fail(&err);
	putchar('\n');
	return 0;
}
