/* price_list.c - reads a price list, and charges what a run asked of servers. */
#include "cmd/common/price_list.h"
#include "cmd/common/textfile.h"
#include "loader/base/error.h"
#include "models/predict/cost.h"
#include "models/whatif/prices.h"

#include <stdlib.h>

int price_list_read(const char *path, struct prices *prices, struct error *err)
{
	char *text;
	int result = textfile_read(path, &text, err);

	if (result < 0)
		return result;
	result = prices_read(text, prices, err);
	free(text);
	return result < 0 ? error_within(err, result, "%s", path) : 0;
}

int price_list_note(const struct prices *prices, struct profile *profile)
{
	profile->requests.cost = cost_requests(prices, &profile->requests);
	return profile_text(&profile->currency, "%s", prices->currency);
}
