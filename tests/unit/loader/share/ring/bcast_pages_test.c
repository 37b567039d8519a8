/* Where the ring's parts lie on machines whose pages are 16 or 64 KiB. */
#include "loader/share/ring/bcast_reader.h"
#include "tests/lib/feeder.h"
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

static long page; /* of the machine that this one plays; 0: its own */

long sysconf(int name)
{
	static long (*real)(int name);

	if (name == _SC_PAGESIZE && page != 0)
		return page;
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "sysconf");
	return real(name);
}

/* All that is mapped, once at its place and the samples twice in a row. */
static void check_pages(const struct bcast_reader *reader)
{
	const struct bcast_layout *layout = &reader->layout;

	assert_int_equal(layout->descriptors % (uint64_t)page, 0);
	assert_int_equal(layout->samples % (uint64_t)page, 0);
	assert_int_equal((layout->bytes - layout->samples) % (uint64_t)page, 0);
	assert_int_equal((uintptr_t)reader->samples % (uintptr_t)page, 0);
}

TEST(all_parts_begin_with_a_page)
{
	static const long pages[] = {4096, 16384, 65536};
	static const struct {
		uint32_t places;
		size_t sample_bytes;
	} sizes[] = {{8, 12288}, {50, 3072}, {25, 1024}, {10, 37}};

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			struct bcast_config config = feeder_config;
			struct bcast_reader *reader;
			struct bcast_ring *ring;

			page = pages[i];
			config.places = sizes[j].places;
			config.sample_bytes = sizes[j].sample_bytes;
			ring = bcast_open(&config, NULL);
			assert_non_null(ring);
			reader = feeder_join(ring, 0, false, NULL);
			assert_non_null(reader);
			check_pages(reader);
			bcast_reader_close(reader);
			bcast_close(ring);
			page = 0;
		}
}
