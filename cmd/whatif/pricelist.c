/* pricelist.c - reads a file of prices. */
#include "cmd/whatif/pricelist.h"
#include "cmd/common/textfile.h"
#include "loader/base/error.h"
#include "models/whatif/prices.h"

#include <stdlib.h>

int pricelist_read(const char *path, struct prices *prices, struct error *err)
{
	char *text;
	int result = textfile_read(path, &text, err);

	if (result < 0)
		return result;
	result = prices_read(text, prices, err);
	free(text);
	return result < 0 ? error_within(err, result, "%s", path) : 0;
}
