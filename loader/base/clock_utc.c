/* clock_utc.c - writes the time of day. */
#include "loader/base/clock.h"

#include <time.h>

void clock_utc(char text[CLOCK_UTC])
{
	time_t now = time(NULL);
	struct tm utc;

	if (strftime(text, CLOCK_UTC, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc)) == 0)
		*text = '\0';
}
