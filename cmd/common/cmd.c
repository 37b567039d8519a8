/* cmd.c - how a command says that it could not. */
#include "cmd/common/cmd.h"
#include "loader/base/error.h"
#include "reports/common/escape.h"

#include <stdio.h>

int cmd_fail(const struct error *err)
{
	fputs("dsa: ", stderr);
	escape_plain(stderr, err->message);
	putc('\n', stderr);
	return 3;
}
