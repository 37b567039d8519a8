/* format_source_test.c - what servers and a cache on disk were asked for, in words. */
#include "profiler/profile.h"
#include "reports/common/format.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

static struct profile profile;

static void says(format_words *words, const char *text)
{
	char *said = format_string(words, &profile);

	assert_string_equal(said, text);
	free(said);
}

static char currency[] = "USD";

static int begin(void **state)
{
	(void)state;
	profile = (struct profile){
		.requests = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NAN, UNKNOWN,
			     UNKNOWN, UNKNOWN, NAN},
		.disk_cache = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
			       NAN},
	};
	return 0;
}

TEST_WITH(without_servers_and_cache_there_is_nothing, begin, NULL)
{
	says(format_requests, "");
	says(format_disk_cache, "");
}

TEST_WITH(requests_are_counted_by_what_they_were_for, begin, NULL)
{
	profile.requests.gets = 5120;
	profile.fetch_depth = 37;
	profile.fetch_depth_auto = true;
	says(format_requests, "5,120 GETs, 37 at once, chosen by how long they took");
	profile.fetch_depth_auto = false;
	profile.requests.hedges = 51;
	says(format_requests, "5,120 GETs, 51 asked twice as they were late");
	profile.requests.hedges = 0;
	profile.requests.retries = 3;
	profile.requests.listing = 6;
	says(format_requests, "5,120 GETs, 3 sent again; 6 to list the data set");
	profile.requests.bytes = 512000000;
	says(format_requests, "5,120 GETs, 3 sent again; 6 to list the data set; 512 "
			      "MB came");
	profile.requests.cost = .002078;
	profile.currency = currency;
	says(format_requests, "5,120 GETs, 3 sent again; 6 to list the data set; 512 "
			      "MB came; that costs 0.00208 USD");
	profile.requests.bytes = UNKNOWN;
	profile.requests.cost = NAN;
	profile.requests.retries = 0;
	profile.requests.listing = 1; /* whether it still holds */
	profile.requests.listing_age_s = 240;
	says(format_requests,
	     "5,120 GETs; 1 to see whether the listing made 4m before holds");
	profile.requests.listing_age_s = 30 * 86400.;
	says(format_requests,
	     "5,120 GETs; 1 to see whether the listing made 30 days before holds");
}

TEST_WITH(a_cache_on_disk_tells_why_it_did_not_keep, begin, NULL)
{
	profile.disk_cache.hits = profile.disk_cache.written = 0;
	profile.disk_cache.refused = profile.disk_cache.dropped = 0;
	profile.disk_cache.full = 0;
	says(format_disk_cache, "0 samples came from the cache on disk");
	profile.disk_cache.hits = 1000;
	profile.disk_cache.written = 20;
	profile.disk_cache.refused = 7;
	says(format_disk_cache,
	     "1,000 samples came from the cache on disk, 20 were written "
	     "to it, 7 were not, as the disk is slow");
	profile.disk_cache.full = 1;
	profile.disk_cache.dropped = 2;
	says(format_disk_cache,
	     "1,000 samples came from the cache on disk, 20 were written "
	     "to it, 7 were not, as the disk is full; 2 torn or foreign "
	     "files were removed");
	profile.disk_cache.refused = 0; /* it evicts instead */
	profile.disk_cache.stale = 3;
	says(format_disk_cache,
	     "1,000 samples came from the cache on disk, 20 were written "
	     "to it, within what a full disk has room for; 3 had changed where "
	     "they come from; 2 torn or foreign files were removed");
}
