/* amount_text.c - picks the unit and the digits in which two amounts differ. */
#include "models/compare/amount_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 3, DIGITS_MOST = 9 };

struct scale {
	double step;
	const char *const *units;
};

static const char *const bytes[] = {"B", "KB", "MB", "GB", "TB", "PB", NULL};
static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
static const char *const bytes_per_s[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s", NULL};
static const char *const times[] = {"ns", "us", "ms", "s", NULL};
static const char *const shares[] = {"%", NULL};
static const char *const counts[] = {"", NULL};
static const char *const rates[] = {"samples/s", NULL};

/* "1.50" as "1.5", "2.00" as "2". */
static void drop_zeros(char *text)
{
	char *end = text + strlen(text);

	if (strchr(text, '.') == NULL)
		return;
	while (end[-1] == '0')
		end--;
	if (end[-1] == '.')
		end--;
	*end = '\0';
}

/* Plain digits up to a billion: no exponents in sentences. */
static void digits_text(char *to, double value, int digits)
{
	double size = fabs(value), above;

	if (!(size < 1e9)) {
		snprintf(to, AMOUNT_SIZE, "%.*g", digits, value);
		return;
	}
	above = size > 0 ? fmax(-DIGITS_MOST, floor(log10(size)) + 1) : 1;
	snprintf(to, AMOUNT_SIZE, "%.*f", (int)fmax(0, digits - above), value);
	drop_zeros(to);
}

static void amount_text_one(char *to, const struct scale *scale, double value,
			    int digits)
{
	const char *const *unit = scale->units;
	char number[AMOUNT_SIZE];

	for (; fabs(value) >= scale->step * .9995 && unit[1] != NULL; unit++)
		value /= scale->step;
	digits_text(number, value, digits);
	snprintf(to, AMOUNT_SIZE, "%.24s%s%s", number,
		 **unit == '\0' || **unit == '%' ? "" : " ", *unit);
}

static bool is_binary(double value)
{
	return value >= 1024 && fmod(value, 1024) == 0;
}

static struct scale scale_of(enum amount_unit unit, double from, double to)
{
	switch (unit) {
	case AMOUNT_BYTES:
		if (is_binary(from) && is_binary(to))
			return (struct scale){1024, binary};
		return (struct scale){1000, bytes};
	case AMOUNT_BYTES_PER_S:
		return (struct scale){1000, bytes_per_s};
	case AMOUNT_SECONDS:
		return (struct scale){1000, times};
	case AMOUNT_SHARE:
		return (struct scale){1000, shares};
	case AMOUNT_SAMPLES_PER_S:
		return (struct scale){1000, rates};
	default:
		return (struct scale){1000, counts};
	}
}

static double in_first_unit(enum amount_unit unit, double value)
{
	return unit == AMOUNT_SECONDS ? value * 1e9
	       : unit == AMOUNT_SHARE ? value * 100
				      : value;
}

void amount_text_pair(struct amount_text_pair *pair, enum amount_unit unit, double from,
		      double to)
{
	struct scale scale = scale_of(unit, from, to);
	int digits = DIGITS;

	do {
		amount_text_one(pair->from, &scale, in_first_unit(unit, from), digits);
		amount_text_one(pair->to, &scale, in_first_unit(unit, to), digits);
	} while (from != to && strcmp(pair->from, pair->to) == 0 &&
		 ++digits <= DIGITS_MOST);
	if (from == 0 && to != 0)
		strcpy(pair->from, "none");
	if (to == 0 && from != 0)
		strcpy(pair->to, "none");
	if (isinf(from))
		strcpy(pair->from, "unlimited");
	if (isinf(to))
		strcpy(pair->to, "unlimited");
}
