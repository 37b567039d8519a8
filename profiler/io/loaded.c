/* loaded.c - keeps what workers make and throw away in step with what the trainer gets. */
#include "loader/base/clock.h"
#include "profiler/io/attach.h"
#include "profiler/io/dsa_io.h"

#define LOOK_NS    500000
#define PATIENCE_S 2 /* a trainer that asks for nothing for so long may be gone */

int dsa_io_may_make(uint64_t number)
{
	const struct io_page *page = dsa_io_page();
	uint64_t since = clock_now(), given = page == NULL ? 0 : page->given;

	while (page != NULL && page->loaded > 0) {
		uint64_t now = clock_now();

		if (number < page->given + page->loaded)
			return 1;
		if (page->given != given)
			since = now;
		given = page->given;
		if (now - since > PATIENCE_S * UINT64_C(1000000000))
			return 0;
		clock_sleep_until(now + LOOK_NS);
	}
	return 0;
}
