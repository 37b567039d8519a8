/* prices_fuzz.c - a price list. */
#include "loader/base/error.h"
#include "models/whatif/prices.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool sane(double price)
{
	return isnan(price) || (isfinite(price) && price >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct error err = {0};
	struct prices prices;
	int result;

	if (text == NULL)
		return 0;
	result = prices_read(text, &prices, &err);
	free(text);
	if (result < 0 && (err.message[0] == '\0' || strchr(err.message, '\n') != NULL))
		abort();
	if (result == 0 && (!sane(prices.core_hour) || !sane(prices.memory_gb_hour) ||
			    !sane(prices.gpu_hour) || !sane(prices.storage_gb_month) ||
			    !sane(prices.request) || strlen(prices.currency) != 3 ||
			    strlen(prices.date) >= sizeof(prices.date)))
		abort();
	return 0;
}
