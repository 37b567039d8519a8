/* loaded.c - keeps what workers make and throw away in step with what the trainer gets. */
#include "loader/base/clock.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"

#include <unistd.h>

#define LOOK_NS 500000

/* A trainer that asks for nothing for so long, or for so many of its steps, may be gone. */
#define PATIENCE_NS    UINT64_C(2000000000)
#define PATIENCE_STEPS 10

static uint64_t loaded_patience(const struct io_page *page)
{
	uint64_t steps_ns = PATIENCE_STEPS * page->step_ns;

	return steps_ns > PATIENCE_NS ? steps_ns : PATIENCE_NS;
}

void dsa_io_await_made(void)
{
	struct io_page *page = dsa_io_page();
	uint64_t since = clock_now();

	while (page != NULL && page->loaded > 0 &&
	       page->batch_count - page->loaded_from <= page->given) {
		uint64_t now = clock_now();

		if (now - since > loaded_patience(page))
			atomic_store(&page->loaded, 0); /* the window is void */
		clock_sleep_until(now + LOOK_NS);
	}
}

int dsa_io_may_make(uint64_t number)
{
	struct io_page *page = dsa_io_page();
	pid_t trainer = getppid();
	uint64_t since = clock_now(), given = page == NULL ? 0 : page->given;

	while (page != NULL && page->loaded > 0) {
		uint64_t now = clock_now();

		if (number < page->given + page->loaded)
			return 1;
		if (page->given != given)
			since = now;
		given = page->given;
		if (now - since > loaded_patience(page) || getppid() != trainer) {
			atomic_store(&page->loaded, 0); /* the window is void */
			return 0;
		}
		clock_sleep_until(now + LOOK_NS);
	}
	return 0;
}
