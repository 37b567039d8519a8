/* number.c - reads numbers with strtod(3), in the C locale. */
#include "loader/base/number.h"

#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

bool number_whole(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || sum > (max - digit) / 10 || max < digit)
			return false;
		sum = sum * 10 + digit;
	}
	*value = sum;
	return true;
}

bool number_count(const char *text, unsigned max, unsigned *count)
{
	uint64_t value;

	if (!number_whole(text, max, &value) || value < 1)
		return false;
	*count = (unsigned)value;
	return true;
}

/* A fraction whose point is '.' in every locale, and one of the units behind it. */
static bool with_unit(const char *text, const struct unit *units, double *value)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	double number;
	char *unit;

	if (plain == (locale_t)0 || hexadecimal ||
	    strchr("0123456789.", text[0]) == NULL)
		return false;
	number = strtod_l(text, &unit, plain);
	freelocale(plain);
	while (units->name != NULL && strcmp(unit, units->name) != 0)
		units++;
	if (unit == text || units->name == NULL || !isfinite(number * units->factor))
		return false;
	*value = number * units->factor;
	return true;
}

bool number_real(const char *text, double *value)
{
	static const struct unit units[] = {{"", 1}, {0}};

	return with_unit(text, units, value);
}

bool number_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {{"", 1},
					    {"B", 1},
					    {"K", 1e3},
					    {"M", 1e6},
					    {"G", 1e9},
					    {"T", 1e12},
					    {"KB", 1e3},
					    {"MB", 1e6},
					    {"GB", 1e9},
					    {"TB", 1e12},
					    {"Ki", 0x1p10},
					    {"Mi", 0x1p20},
					    {"Gi", 0x1p30},
					    {"Ti", 0x1p40},
					    {"KiB", 0x1p10},
					    {"MiB", 0x1p20},
					    {"GiB", 0x1p30},
					    {"TiB", 0x1p40},
					    {0}};
	double value;

	if (!with_unit(text, units, &value) || value >= 0x1p62)
		return false;
	*bytes = (uint64_t)(value + 0.5);
	return true;
}

bool number_rate(const char *text, uint64_t *bytes)
{
	size_t length = strlen(text);
	char size[32] = "";

	if (length > 2 && strcmp(text + length - 2, "/s") == 0)
		length -= 2;
	if (length < sizeof(size))
		memcpy(size, text, length);
	return number_size(size, bytes);
}

bool number_time(const char *text, double *seconds)
{
	static const struct unit units[] = {{"", 1},      {"s", 1},     {"ms", 1e-3},
					    {"us", 1e-6}, {"ns", 1e-9}, {"m", 60},
					    {"h", 3600},  {0}};

	return with_unit(text, units, seconds);
}

bool number_percent(const char *text, double *share)
{
	static const struct unit units[] = {{"%", 0.01}, {0}};
	double value;

	if (!with_unit(text, units, &value) || value > 1)
		return false;
	*share = value;
	return true;
}
