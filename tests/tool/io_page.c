/*
 * io_page.c - makes the page of a program that nobody changed, and prints it.
 *
 *	io_page make FILE [MEMBER=VALUE...]	bandwidth latency delay throttled listing
 *						keeping kept (a folder)
 *	io_page set FILE MEMBER=VALUE...
 *	io_page show FILE			JSON
 */
#include "profiler/io_page.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct io_page *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED
			    : mmap(NULL, sizeof(struct io_page), PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, 0);

	if (page == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return page;
}

static void set(struct io_page *page, const char *word)
{
	const char *value = strchr(word, '=');
	double number = value != NULL ? strtod(value + 1, NULL) : 0;
	size_t length = value != NULL ? (size_t)(value - word) : 0;

	if (strncmp(word, "bandwidth", length) == 0)
		page->storage_bandwidth = number;
	else if (strncmp(word, "latency", length) == 0)
		page->storage_latency = number;
	else if (strncmp(word, "delay", length) == 0)
		page->prep_delay = number;
	else if (strncmp(word, "throttled", length) == 0)
		page->throttled = number != 0;
	else if (strncmp(word, "listing", length) == 0)
		page->listing = number != 0;
	else if (strncmp(word, "keeping", length) == 0)
		page->keeping = page->began = number != 0 ? clock_real() : 0;
	else if (strncmp(word, "kept", length) == 0)
		snprintf(page->kept_folder, sizeof(page->kept_folder), "%s", value + 1);
}

/* Paths of tests have nothing to escape. */
static void show_batches(const struct io_page *page)
{
	printf("\"made\": [");
	for (uint64_t i = 0; i < page->batch_count && i < IO_BATCHES; i++) {
		const struct io_batch *batch = &page->batches[i];

		printf("%s{\"key\": %" PRIu64 ", \"io_ns\": %" PRIu64
		       ", \"bytes\": %" PRIu64 ", \"digest\": %" PRIu64 ", ",
		       i > 0 ? ",\n" : "", batch->key, batch->io_ns, batch->bytes,
		       batch->digest);
		printf("\"opens\": %u, \"reads\": %u, \"samples\": %u, \"pid\": %u, "
		       "\"flags\": %u, \"storage_bytes\": %" PRIu64 ", ",
		       batch->opens, batch->reads, batch->samples, batch->pid,
		       batch->flags, batch->storage_bytes);
		printf("\"ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}",
		       batch->end_ns - batch->begin_ns, batch->cpu_ns);
	}
	printf("],\n");
}

static void show_files(const struct io_page *page)
{
	printf("\"ranges\": [");
	for (uint64_t i = 0; i < page->range_count && i < IO_RANGES; i++) {
		const struct io_range *range = &page->ranges[i];

		printf("%s[%" PRIu64 ", \"%s\", %" PRIu64 ", %" PRIu64 "]",
		       i > 0 ? ",\n" : "", range->key, page->paths + range->path,
		       range->from, range->to);
	}
	printf("],\n\"written\": [");
	for (uint64_t i = 0; i < page->written_count && i < IO_WRITTEN; i++)
		printf("%s\"%s\"", i > 0 ? ", " : "", page->written[i].path);
	printf("],\n\"to_keep\": %" PRIu64 ", \"lost\": %" PRIu64 ",\n",
	       page->kept_count, page->lost_count);
}

static void show(const struct io_page *page)
{
	unsigned slots = 0;

	for (unsigned i = 0; i < IO_SLOTS; i++)
		slots += page->slots[i].owner != 0;
	printf("{");
#define SHOW(name, meaning)                                                            \
	printf("\"" #name "\": %" PRIu64 ",\n", io_page_total(page, IO_##name));
	IO_COUNTERS(SHOW)
#undef SHOW
	show_batches(page);
	show_files(page);
	printf("\"slots\": %u, \"dropped\": %" PRIu64 "}\n", slots,
	       page->dropped_processes + page->dropped_ranges + page->dropped_written);
}

int main(int argc, char **argv)
{
	struct error err;
	struct io_page *page;

	if (argc < 3)
		return 2;
	page = strcmp(argv[1], "make") == 0 ? io_page_create(argv[2], IO_WHOLE, &err)
					    : map(argv[2]);
	if (page == NULL) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	for (int i = 3; i < argc; i++)
		set(page, argv[i]);
	if (strcmp(argv[1], "show") == 0)
		show(page);
	return 0;
}
