#include "cmd/pricelist.h"
#include "cmd/textfile.h"
#include "loader/base/error.h"
#include "models/prices.h"

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
