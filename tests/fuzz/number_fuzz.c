/* number_fuzz.c - what people type as counts, sizes, times and shares. */
#include "loader/base/number.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static void try_whole(const char *text)
{
	uint64_t value = 0, again = 0;
	unsigned count = 0;
	char back[32];

	if (number_count(text, 1000, &count))
		require(count >= 1 && count <= 1000);
	if (number_whole(text, 1000, &value))
		require(value <= 1000);
	if (!number_whole(text, UINT64_MAX, &value))
		return;
	snprintf(back, sizeof(back), "%llu", (unsigned long long)value);
	require(strcmp(text + strspn(text, "0"), value == 0 ? "" : back) == 0);
	require(number_whole(back, value, &again) && again == value);
	require(value == 0 || !number_whole(back, value - 1, &again));
}

static void try_real(const char *text)
{
	double value = 0, share = 0;
	uint64_t bytes = 0;

	if (number_real(text, &value))
		require(isfinite(value) && value >= 0);
	if (number_time(text, &value))
		require(isfinite(value) && value >= 0);
	if (number_percent(text, &share))
		require(share >= 0 && share <= 1);
	if (number_size(text, &bytes))
		require(bytes <= UINT64_C(1) << 62);
}

/* Where strtod() can read a fraction too, both agree to 12 digits. */
static void compare_real(const char *text)
{
	double value, other;
	char *end;

	if (!number_real(text, &value) || strpbrk(text, "xXpP") != NULL)
		return;
	other = strtod(text, &end);
	require(*end == '\0');
	if (other > 1e-290)
		require(fabs(value - other) <= 1e-12 * other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (text == NULL)
		return 0;
	try_whole(text);
	try_real(text);
	compare_real(text);
	free(text);
	return 0;
}
