/* near.c - the distance of words (Damerau 1964, each letter exchanged once at most). */
#include "loader/base/text/near.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 32 };

struct near_table {
	unsigned rows[LONGEST + 1][LONGEST + 1];
};

static unsigned near_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The distance of the first i letters of a and the first j of b, from shorter ones. */
static unsigned near_step(const struct near_table *table, const char *a, size_t i,
			  const char *b, size_t j)
{
	unsigned wrong = table->rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
	unsigned other = near_least(table->rows[i - 1][j], table->rows[i][j - 1]) + 1;
	bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

	if (exchanged)
		other = near_least(other, table->rows[i - 2][j - 2] + 1);
	return near_least(wrong, other);
}

unsigned near_slips(const char *typed, const char *meant)
{
	size_t rows = strlen(typed), columns = strlen(meant);
	struct near_table table;

	if (rows > LONGEST || columns > LONGEST)
		return NEAR_FAR;
	for (size_t i = 0; i <= rows; i++)
		table.rows[i][0] = (unsigned)i;
	for (size_t j = 0; j <= columns; j++)
		table.rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= rows; i++)
		for (size_t j = 1; j <= columns; j++)
			table.rows[i][j] = near_step(&table, typed, i, meant, j);
	return table.rows[rows][columns] <= (columns > 3 ? 2u : 1u)
		       ? table.rows[rows][columns]
		       : NEAR_FAR;
}
