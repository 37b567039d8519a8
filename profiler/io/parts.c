/* parts.c - adds up what parts of making a sample took; keeps the slowest samples. */
#include "profiler/io/parts.h"
#include "profiler/io/base/attach.h"
#include "profiler/io/dsa_io.h"

#include <stdbool.h>
#include <string.h>

#define PARTS_OF_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

static PARTS_OF_THREAD bool parts_looks;
static PARTS_OF_THREAD char parts_path[IO_PATH]; /* "": the sample opened none */

void parts_opened(const char *path)
{
	if (parts_looks && parts_path[0] == '\0' && path != NULL)
		io_copy_text(parts_path, IO_PATH, path);
}

/* ---- which batches ---- */

void dsa_io_look_at(uint32_t dataset)
{
	struct io_page *page = attach_page();

	if (page != NULL)
		atomic_store(&page->looks_at, dataset);
}

uint32_t dsa_io_looks_at(void)
{
	struct io_page *page = attach_page();

	return page == NULL ? 0 : atomic_load(&page->looks_at);
}

const _Atomic uint64_t *dsa_io_look(void)
{
	struct io_slot *slot = attach_slot();

	if (slot == NULL)
		return NULL;
	parts_looks = true;
	parts_path[0] = '\0';
	return &slot->counters[IO_io_ns];
}

/* ---- the slowest samples ---- */

/* The entry of the sample, else the one that took the least; NULL: all are written. One
 * whose process was killed as it wrote stays so. */
static struct io_slow *parts_slow(struct io_page *page, uint64_t sample)
{
	struct io_slow *least = NULL;

	for (unsigned i = 0; i < IO_SLOWEST; i++) {
		struct io_slow *slow = &page->slowest[i];

		if (slow->busy)
			continue;
		if (slow->ns > 0 && slow->sample == sample)
			return slow;
		if (least == NULL || slow->ns < least->ns)
			least = slow;
	}
	return least;
}

/* Who comes at the same moment is left out: another sample will tell. */
static void parts_keep(struct io_slow *slow, uint64_t sample, uint64_t ns)
{
	uint32_t free = 0;

	if (!atomic_compare_exchange_strong(&slow->busy, &free, 1))
		return;
	if (ns > slow->ns) { /* another process may have been first */
		io_copy_text(slow->path, IO_PATH, parts_path);
		atomic_store(&slow->sample, sample);
		atomic_store(&slow->ns, ns);
	}
	atomic_store(&slow->busy, 0);
}

void dsa_io_sample(uint64_t sample, uint64_t ns)
{
	struct io_page *page = attach_page();
	struct io_slow *slow = page == NULL ? NULL : parts_slow(page, sample);

	if (slow != NULL && slow->ns > 0 && slow->sample == sample) {
		if (ns > 0 && ns < slow->ns)
			atomic_store(&slow->ns, ns);
	} else if (slow != NULL && ns > slow->ns) {
		parts_keep(slow, sample, ns);
	}
	parts_path[0] = '\0';
}

/* ---- parts ---- */

/* The first that has this name or, for this process to name, none. */
static bool parts_claim(struct io_part *part, const char *name)
{
	uint32_t state = IO_NAMELESS;

	if (atomic_compare_exchange_strong(&part->state, &state, IO_NAMING)) {
		io_copy_text(part->name, IO_PART_NAME, name);
		atomic_store(&part->state, IO_NAMED);
		return true;
	}
	return state == IO_NAMED && strncmp(part->name, name, IO_PART_NAME - 1) == 0;
}

int dsa_io_part(const char *name)
{
	struct io_page *page = attach_page();

	for (int i = 0; page != NULL && i < IO_PARTS; i++)
		if (parts_claim(&page->parts[i], name))
			return i;
	return -1;
}

static void parts_add(struct io_page *page, const struct io_took *took)
{
	struct io_part *part;

	if (took->part < 0 || took->part >= IO_PARTS) {
		atomic_fetch_add(&page->dropped_parts, took->calls);
		return;
	}
	part = &page->parts[took->part];
	atomic_fetch_add(&part->calls, took->calls);
	if (took->ns > 0)
		atomic_fetch_add(&part->ns, (uint64_t)took->ns);
}

void dsa_io_took(const struct io_took *took, uint32_t count, uint32_t samples)
{
	struct io_page *page = attach_page();

	parts_looks = false;
	if (page == NULL)
		return;
	for (uint32_t i = 0; i < count; i++)
		parts_add(page, &took[i]);
	atomic_fetch_add(&page->looked_samples, samples);
}
