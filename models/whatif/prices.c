/* prices.c - reads a price list, key by key. */
#include "models/whatif/prices.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
#include "loader/base/text/ini.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ACCELERATORS_MAX = 4096 };

/* A member of struct prices: how its value is read, and what that may be. */
struct key {
	const char *name;
	bool (*read)(const char *value, void *member);
	size_t offset;
	const char *wants;
};

static bool read_currency(const char *value, void *member)
{
	if (strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3 || value[3] != '\0')
		return false;
	memcpy(member, value, 4);
	return true;
}

/* As ISO 8601 writes it: what is read is written again to be sure of each digit. */
static bool read_date(const char *value, void *member)
{
	struct tm day = {0};
	const char *end = strptime(value, "%Y-%m-%d", &day);
	char again[16];

	if (end == NULL || *end != '\0' || day.tm_year < 0 ||
	    strftime(again, sizeof(again), "%Y-%m-%d", &day) != 10 ||
	    strcmp(again, value) != 0)
		return false;
	memcpy(member, value, 11);
	return true;
}

static bool read_price(const char *value, void *member)
{
	return number_real(value, member);
}

static bool read_accelerators(const char *value, void *member)
{
	uint64_t count;

	if (!number_whole(value, ACCELERATORS_MAX, &count))
		return false;
	*(unsigned *)member = (unsigned)count;
	return true;
}

#define PRICE "a number, not negative"

static const struct key keys[] = {
	{"currency", read_currency, offsetof(struct prices, currency),
	 "three capital letters, such as USD"},
	{"date", read_date, offsetof(struct prices, date), "a day, such as 2026-11-20"},
	{"core_hour", read_price, offsetof(struct prices, core_hour), PRICE},
	{"memory_gb_hour", read_price, offsetof(struct prices, memory_gb_hour), PRICE},
	{"gpu_hour", read_price, offsetof(struct prices, gpu_hour), PRICE},
	{"storage_gb_month", read_price, offsetof(struct prices, storage_gb_month),
	 PRICE},
	{"request", read_price, offsetof(struct prices, request), PRICE},
	{"listing", read_price, offsetof(struct prices, listing), PRICE},
	{"egress_gb", read_price, offsetof(struct prices, egress_gb), PRICE},
	{"accelerators", read_accelerators, offsetof(struct prices, accelerators),
	 "a whole number up to 4096"},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]), CURRENCY = 0 };

/* The key's place in the table; KEYS: there is no such key. */
static unsigned prices_place_of(const char *name)
{
	unsigned i = 0;

	while (i < KEYS && strcmp(keys[i].name, name) != 0)
		i++;
	return i;
}

/* Takes one line; `given` has a bit for each key so far. */
static int prices_take(struct prices *prices, const char *name, const char *value,
		       unsigned *given, struct error *err)
{
	unsigned i = prices_place_of(name);
	char shown[NAME_SHOWN];

	if (i == KEYS)
		return error_set(err, EINVAL,
				 "unknown key '%s'; dsa-prices(5) lists them",
				 name_escape(name, shown, sizeof(shown)));
	if ((*given & 1u << i) != 0)
		return error_set(err, EINVAL, "%s is given twice", keys[i].name);
	*given |= 1u << i;
	if (!keys[i].read(value, (char *)prices + keys[i].offset))
		return error_set(err, EINVAL, "%s is %s, not '%s'", keys[i].name,
				 keys[i].wants,
				 name_escape(value, shown, sizeof(shown)));
	return 0;
}

static int take_lines(char *text, struct prices *prices, unsigned *given,
		      struct error *err)
{
	struct ini ini = {.at = text};
	const char *name, *value;
	int result;

	while ((result = ini_next(&ini, &name, &value, err)) > 0) {
		result = prices_take(prices, name, value, given, err);
		if (result < 0)
			return error_within(err, result, "line %u", ini.line);
	}
	return result;
}

int prices_read(const char *text, struct prices *prices, struct error *err)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);
	unsigned given = 0;
	int result;

	if (copy == NULL)
		return error_sys(err, ENOMEM, "reading prices");
	memcpy(copy, text, size);
	*prices = (struct prices){.core_hour = NAN,
				  .memory_gb_hour = NAN,
				  .gpu_hour = NAN,
				  .storage_gb_month = NAN,
				  .request = NAN,
				  .listing = NAN,
				  .egress_gb = NAN,
				  .accelerators = 1};
	result = take_lines(copy, prices, &given, err);
	free(copy);
	if (result < 0)
		return result;
	if (!cost_any_price(prices))
		return error_set(err, EINVAL, "it holds no price");
	if ((given & 1u << CURRENCY) == 0)
		return error_set(err, EINVAL, "it names no currency: currency = USD");
	return 0;
}
