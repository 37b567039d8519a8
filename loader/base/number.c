#include "loader/base/number.h"

#include <ctype.h>
#include <errno.h>
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

/* Length of the digits, point and exponent at the head of text; 0 if there are none. */
static size_t decimal_length(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	size_t length = digits;

	if (text[length] == '.') {
		size_t more = strspn(text + length + 1, "0123456789");

		digits += more;
		length += 1 + more;
	}
	if (digits == 0)
		return 0;
	if (text[length] == 'e' || text[length] == 'E') {
		size_t sign = text[length + 1] == '+' || text[length + 1] == '-';
		size_t more = strspn(text + length + 1 + sign, "0123456789");

		if (more > 0)
			length += 1 + sign + more;
	}
	return length;
}

/*
 * Takes digits into *value until it has as many as a double can tell apart. Returns how
 * many were read; *dropped is how many of them were not taken.
 */
static long take_digits(const char *text, double *value, long *dropped)
{
	long count = 0;

	for (*dropped = 0; isdigit((unsigned char)text[count]); count++)
		if (*value < 1e18)
			*value = *value * 10 + (text[count] - '0');
		else
			++*dropped;
	return count;
}

/* value * 10^scale, also where 10^scale is no double. */
static double number_scaled(double value, long scale)
{
	if (scale < -300) {
		value *= 1e-300;
		scale += 300;
	}
	return scale < 0 ? value / pow(10, (double)-scale)
			 : value * pow(10, (double)scale);
}

/* strtod() reads the decimal point of the locale; this one reads '.'. */
static double decimal_value(const char *text, size_t length)
{
	const char *end = text + length;
	double value = 0;
	long dropped, scale;

	text += take_digits(text, &value, &dropped);
	scale = dropped;
	if (text < end && *text == '.') {
		long count = take_digits(text + 1, &value, &dropped);

		text += 1 + count;
		scale -= count - dropped;
	}
	if (text < end) { /* strtol stops where decimal_length() did */
		long exponent = strtol(text + 1, NULL, 10);

		scale += exponent > 99999    ? 99999
			 : exponent < -99999 ? -99999
					     : exponent;
	}
	return number_scaled(value, scale);
}

static bool with_unit(const char *text, const struct unit *units, double *value)
{
	size_t length = decimal_length(text);
	double number;

	if (length == 0)
		return false;
	number = decimal_value(text, length);
	for (; units->name != NULL; units++)
		if (strcmp(text + length, units->name) == 0)
			break;
	if (units->name == NULL || !isfinite(number * units->factor))
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
