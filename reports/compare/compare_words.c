/* compare_words.c - what is compared, in words. */
#include "reports/compare/compare_part.h"

#include <string.h>

const char *compare_group_name(enum compare_group group)
{
	static const char *const names[] = {
		[COMPARE_RATES] = "Samples per second",
		[COMPARE_STALLS] = "Shares of the time of a step",
		[COMPARE_COUNTS] = "Counted",
		[COMPARE_LOADER] = "Loader",
		[COMPARE_DATA] = "Data set",
		[COMPARE_RUN] = "Run",
		[COMPARE_MACHINE] = "Machine",
	};

	return names[group];
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = {
		[COMPARE_SAME] = "same",          [COMPARE_DIFFERS] = "differs",
		[COMPARE_CLEAR] = "clear",        [COMPARE_NOISE] = "within noise",
		[COMPARE_UNSURE] = "no interval", [COMPARE_UNKNOWN] = "n/a",
	};

	return names[verdict];
}

static const char *compare_words_amount(char *to, enum compare_unit unit, double value)
{
	switch (unit) {
	case COMPARE_SHARE:
		return format_percent(to, value);
	case COMPARE_BYTES:
		return format_bytes(to, value);
	case COMPARE_BYTES_PER_S:
		format_bytes(to, value);
		strcat(to, isfinite(value) ? "/s" : "");
		return to;
	case COMPARE_SECONDS:
		return format_seconds(to, value);
	case COMPARE_RATE:
		return format_rate(to, value);
	default:
		if (value >= 0 && value < 1e15 && value == floor(value))
			return format_count(to, (uint64_t)value);
		return format_rate(to, value);
	}
}

const char *compare_number(char to[COMPARE_CELL], const struct compare_row *row,
			   const struct compare_value *value)
{
	char number[FORMAT_SIZE], half[FORMAT_SIZE];
	const struct interval *of = &value->number;

	compare_words_amount(number, row->unit, of->value);
	if (!isfinite(of->value) && row->none != NULL)
		snprintf(to, COMPARE_CELL, "%s", row->none);
	else if (!isfinite(of->value) || !compare_has_interval(value))
		snprintf(to, COMPARE_CELL, "%s", number);
	else if (row->unit == COMPARE_SHARE)
		snprintf(to, COMPARE_CELL, "%s %s", number, format_points(half, of));
	else
		snprintf(to, COMPARE_CELL, "%s ±%s", number,
			 compare_words_amount(half, row->unit, interval_half(*of)));
	return to;
}

const char *compare_change(char to[FORMAT_SIZE], const struct compare_row *row)
{
	double percent = 100 * row->change;

	*to = '\0';
	if (!isfinite(percent) || row->verdict == COMPARE_SAME)
		return to;
	if (row->unit == COMPARE_SHARE)
		snprintf(to, FORMAT_SIZE, "%+.1f points", percent);
	else
		snprintf(to, FORMAT_SIZE, fabs(percent) < 1e6 ? "%+.1f%%" : "%+.1e%%",
			 percent);
	return to;
}
